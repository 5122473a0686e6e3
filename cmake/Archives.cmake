# Debian's archives (libNAME.a) instead of its shared libraries, where they are there: a package then holds 25
# libraries beside LibTorch's instead of 67. HDF5's alone wants curl, that one GnuTLS, Kerberos and LDAP, and cairo's
# wants X11: of an archive only those parts are linked that the program calls.
# After Dependencies.cmake, whose targets get the archives; nothing else of the build has to know.
option(PTYCHE_ARCHIVES "Link the archives of libraries where they are there" ON)
if(NOT PTYCHE_ARCHIVES)
  return()
endif()

# ptyche_archive(NAME NEEDS...): target archive_NAME of libNAME.a, if that and all that it needs are found. NEEDS
# are the NAMEs of earlier ones, or shared:NAME for what has no archive or is in the package anyway.
function(ptyche_archive name)
  set(needs "")
  foreach(need IN LISTS ARGN)
    if(need MATCHES "^shared:(.*)")
      find_library(PTYCHE_SHARED_${CMAKE_MATCH_1} ${CMAKE_MATCH_1})
      set(needed ${PTYCHE_SHARED_${CMAKE_MATCH_1}})
    elseif(TARGET archive_${need})
      set(needed archive_${need})
    else()
      set(needed "")
    endif()
    if(NOT needed)
      return()
    endif()
    list(APPEND needs ${needed})
  endforeach()
  find_library(PTYCHE_ARCHIVE_${name} lib${name}.a)
  mark_as_advanced(PTYCHE_ARCHIVE_${name})
  if(PTYCHE_ARCHIVE_${name})
    add_library(archive_${name} STATIC IMPORTED GLOBAL)
    set_target_properties(archive_${name} PROPERTIES IMPORTED_LOCATION ${PTYCHE_ARCHIVE_${name}}
                          INTERFACE_LINK_LIBRARIES "${needs}")
  endif()
endfunction()

# ptyche_use_archive(TARGET NAME [CODE]): the library that was found gives way to the archive. CODE must link then:
# another distribution may have built it with more than is known here.
function(ptyche_use_archive target name)
  if(NOT TARGET archive_${name})
    return()
  endif()
  get_target_property(CMAKE_REQUIRED_INCLUDES ${target} INTERFACE_INCLUDE_DIRECTORIES)
  set(CMAKE_REQUIRED_LIBRARIES archive_${name})
  if(ARGC GREATER 2)
    check_cxx_source_compiles("${ARGV2}" PTYCHE_LINKS_${name})
    if(NOT PTYCHE_LINKS_${name})
      return()
    endif()
  endif()
  get_target_property(kind ${target} TYPE)
  if(kind STREQUAL INTERFACE_LIBRARY)
    set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES archive_${name})
  else()
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${PTYCHE_ARCHIVE_${name}})
  endif()
endfunction()

ptyche_archive(z)
ptyche_archive(zstd)
ptyche_archive(lz4)
ptyche_archive(deflate)
ptyche_archive(aec)
ptyche_archive(sz aec)
ptyche_archive(snappy)
ptyche_archive(blosc lz4 snappy zstd z)
ptyche_archive(hdf5_serial sz z)
ptyche_archive(matio hdf5_serial z)
ptyche_archive(png16 z)
ptyche_archive(expat)
ptyche_archive(freetype png16 z shared:brotlidec)  # which the HTTP library needs as well
ptyche_archive(fontconfig freetype expat)
ptyche_archive(pixman-1)
ptyche_archive(cairo pixman-1 fontconfig freetype png16 z)
ptyche_archive(yaml-cpp)
ptyche_archive(md)
ptyche_archive(bsd md)
ptyche_archive(sodium)
# The LGPL's are left to be replaced (pgm); norm and Kerberos are for transports of ZeroMQ that nobody names.
ptyche_archive(zmq sodium bsd shared:pgm shared:norm shared:gssapi_krb5)
foreach(name webp Lerc lzma jpeg)
  ptyche_archive(${name})
endforeach()

ptyche_use_archive(ZLIB::ZLIB z)
ptyche_use_archive(PkgConfig::zstd zstd)
ptyche_use_archive(PkgConfig::lz4 lz4)
ptyche_use_archive(PkgConfig::libdeflate deflate)
ptyche_use_archive(PkgConfig::blosc blosc)
ptyche_use_archive(PkgConfig::libpng png16)
ptyche_use_archive(PkgConfig::yaml-cpp yaml-cpp)
ptyche_use_archive(PkgConfig::hdf5 hdf5_serial "#include <hdf5.h>
int main() { return H5Fcreate(\"x\", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT) < 0 || H5open() < 0; }")
if(PTYCHE_LINKS_hdf5_serial)
  ptyche_use_archive(PkgConfig::matio matio)
endif()
ptyche_use_archive(PkgConfig::fontconfig fontconfig "#include <fontconfig/fontconfig.h>
int main() { return FcInit(); }")
ptyche_use_archive(PkgConfig::cairo cairo "#include <cairo-ft.h>
int main() {
  cairo_t* canvas = cairo_create(cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 8, 8));
  cairo_set_font_face(canvas, cairo_ft_font_face_create_for_pattern(nullptr));
  cairo_show_text(canvas, \"x\");
  return cairo_surface_write_to_png(cairo_get_target(canvas), \"x\");
}")
ptyche_use_archive(PkgConfig::libzmq zmq "#include <zmq.h>
int main() { return zmq_socket(zmq_ctx_new(), ZMQ_SUB) == nullptr; }")

# What libtiff.a needs (Dependencies.cmake), by the same archives.
get_target_property(needs ptyche_tiff INTERFACE_LINK_LIBRARIES)
foreach(name IN ITEMS webp Lerc lzma jpeg zstd deflate z)
  if(TARGET archive_${name})
    list(TRANSFORM needs REPLACE "^${name}$" archive_${name})
  endif()
endforeach()
set_property(TARGET ptyche_tiff PROPERTY INTERFACE_LINK_LIBRARIES "${needs}")
