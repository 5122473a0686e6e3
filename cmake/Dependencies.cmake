# Everything that is not ptychography, from Debian's packages (list: tools/packages.txt).
find_package(PkgConfig REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nanoflann REQUIRED)
find_package(GTest REQUIRED)

# pkg-config knows the one library of each that is needed; CMake's own HDF5 module would link curl,
# szip and more into every binary. Debian calls the plain HDF5 hdf5-serial, others hdf5.
pkg_search_module(hdf5 REQUIRED IMPORTED_TARGET hdf5-serial hdf5)
add_library(hdf5::hdf5 ALIAS PkgConfig::hdf5)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
add_library(libzip::zip ALIAS PkgConfig::libzip)
pkg_check_modules(cairo REQUIRED IMPORTED_TARGET cairo)
pkg_check_modules(libpng REQUIRED IMPORTED_TARGET libpng)
pkg_check_modules(yaml-cpp REQUIRED IMPORTED_TARGET yaml-cpp)
