# Everything that is not ptychography, from Debian's packages (list: tools/packages.txt).
find_package(PkgConfig REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nanoflann REQUIRED)
find_package(GTest REQUIRED)

# pkg-config knows the one library of each that is needed; CMake's own HDF5 module would link curl,
# szip and more into every binary. Debian calls the plain HDF5 hdf5-serial, others hdf5.
pkg_search_module(hdf5 REQUIRED IMPORTED_TARGET hdf5-serial hdf5)
if(hdf5_VERSION VERSION_GREATER_EQUAL 1.12)  # Debian 13: the sources are written for the functions of 1.10
  target_compile_definitions(PkgConfig::hdf5 INTERFACE H5_USE_110_API)
endif()
add_library(hdf5::hdf5 ALIAS PkgConfig::hdf5)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
add_library(libzip::zip ALIAS PkgConfig::libzip)
pkg_check_modules(cairo REQUIRED IMPORTED_TARGET cairo)
pkg_check_modules(libpng REQUIRED IMPORTED_TARGET libpng)
pkg_check_modules(yaml-cpp REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(fontconfig REQUIRED IMPORTED_TARGET fontconfig)
pkg_check_modules(libtiff REQUIRED IMPORTED_TARGET libtiff-4)
# libtiff as an archive, so that its JBIG codec can be left out (ptyche/storage/arrays_tiff.cpp): -u
# makes the linker look for the codec before it comes to the archive. Where there is only the shared
# library, that one is linked, with the codec.
find_library(PTYCHE_TIFF_ARCHIVE libtiff.a)
add_library(ptyche_tiff INTERFACE)
if(PTYCHE_TIFF_ARCHIVE)
  set(tiff_needs ${libtiff_STATIC_LIBRARIES})
  list(REMOVE_ITEM tiff_needs tiff jbig)
  target_link_options(ptyche_tiff INTERFACE -Wl,-u,TIFFInitJBIG)
  target_link_libraries(ptyche_tiff INTERFACE ${PTYCHE_TIFF_ARCHIVE} ${tiff_needs})
else()
  target_link_libraries(ptyche_tiff INTERFACE PkgConfig::libtiff)
endif()
pkg_check_modules(matio REQUIRED IMPORTED_TARGET matio)  # MATLAB's own files
# What HDF5 files of the field are packed with.
find_package(ZLIB REQUIRED)
pkg_check_modules(libdeflate REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(lz4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(blosc REQUIRED IMPORTED_TARGET blosc)
# Streams of detectors and the page that shows a run (ptyche/live).
pkg_check_modules(libzmq REQUIRED IMPORTED_TARGET libzmq)
pkg_check_modules(libcbor REQUIRED IMPORTED_TARGET libcbor)
pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)
