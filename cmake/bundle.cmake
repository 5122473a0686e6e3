# Run by `cmake --install` (Install.cmake, which sets program, libtorch, strip, python, tools, archives, bundle, share): the
# libraries and their licences.

# glibc and the dynamic linker are used only where the system's are older: they have a folder of their own.
set(of_glibc "^(ld-linux.*|lib(c|m|mvec|dl|rt|util|pthread|resolv|anl|nss_.*))\\.so")
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${program} PRE_EXCLUDE_REGEXES ${of_glibc}
     RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing)
if(missing)
  message(FATAL_ERROR "libraries that are not found: ${missing}")
endif()

# Under the name that the linker looks for, without a chain of links.
file(REMOVE_RECURSE ${bundle}/lib)  # of an earlier version
file(MAKE_DIRECTORY ${bundle}/lib)
foreach(library IN LISTS libraries)
  get_filename_component(name ${library} NAME)
  file(COPY_FILE ${library} ${bundle}/lib/${name})
  file(CHMOD ${bundle}/lib/${name} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endforeach()
# Names for debuggers are a fifth of LibTorch. NVIDIA's libraries may only be passed on as they are.
execute_process(COMMAND ${strip} --strip-unneeded ${bundle}/bin/ptyche ${bundle}/bin/ptyche-program
                        ${bundle}/lib/libtorch_cpu.so ${bundle}/lib/libc10.so
                COMMAND_ERROR_IS_FATAL ANY)

# glibc's libraries belong together, of one build: all from beside the linker that the program names. What
# nothing here needs may be needed by what is opened later: a plug-in for MPI, the driver of a GPU, names of hosts.
file(REAL_PATH /lib64/ld-linux-x86-64.so.2 linker)
get_filename_component(system ${linker} DIRECTORY)
file(REMOVE_RECURSE ${bundle}/glibc)
file(MAKE_DIRECTORY ${bundle}/glibc)
file(COPY_FILE ${linker} ${bundle}/glibc/ld-linux-x86-64.so.2)
foreach(name IN ITEMS libc.so.6 libm.so.6 libmvec.so.1 libdl.so.2 libpthread.so.0 librt.so.1 libutil.so.1 libresolv.so.2
                      libanl.so.1 libnss_files.so.2 libnss_dns.so.2 libnss_compat.so.2)
  file(COPY_FILE ${system}/${name} ${bundle}/glibc/${name})
  file(CHMOD ${bundle}/glibc/${name} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endforeach()
execute_process(COMMAND ${python} ${tools}/set_interpreter.py ${bundle}/bin/ptyche-program
                COMMAND_ERROR_IS_FATAL ANY)

# Licences of what is passed on: LibTorch's and NVIDIA's from their wheels, the others' from Debian.
set(licences ${share}/doc/ptyche/licences)
file(REMOVE_RECURSE ${licences})
file(GLOB wheels ${libtorch}/../*.dist-info/licenses)
foreach(wheel IN LISTS wheels)
  string(REGEX REPLACE ".*/([^/]*).dist-info/licenses$" "\\1" name ${wheel})
  file(COPY ${wheel}/ DESTINATION ${licences}/${name})
endforeach()
find_program(dpkg_query dpkg-query)
if(NOT dpkg_query)
  message(WARNING "no dpkg-query here: the licences of the other libraries are not in ${licences}")
  return()
endif()

# What is in the program itself as headers, or comes with LibTorch or as a font.
set(packages cppzmq-dev nlohmann-json3-dev libnanoflann-dev libgomp1 fonts-dejavu-core libc6)
set(files "")
set(patterns "")
foreach(library IN LISTS libraries archives)
  cmake_path(IS_PREFIX libtorch ${library} NORMALIZE with_libtorch)
  if(NOT with_libtorch AND NOT library MATCHES "/nvidia/")
    file(REAL_PATH ${library} file)
    list(APPEND files ${file})
    get_filename_component(name ${file} NAME)
    list(APPEND patterns "*/${name}")
  endif()
endforeach()
execute_process(COMMAND ${dpkg_query} -S ${patterns} OUTPUT_VARIABLE owners ERROR_QUIET)
foreach(file IN LISTS files)
  string(REGEX REPLACE "^/usr" "" place ${file})  # /lib is /usr/lib; Debian knows it by one of the two
  string(REPLACE "+" "\\+" place "${place}")
  if(NOT "\n${owners}" MATCHES "\n([^:\n]+)(:[a-z0-9]+)?: (/usr)?${place}\n")
    message(FATAL_ERROR "no Debian package has ${file}: whose licence is it under?")
  endif()
  list(APPEND packages ${CMAKE_MATCH_1})
endforeach()
list(REMOVE_DUPLICATES packages)
list(SORT packages)
set(list "Debian's packages of which parts are in this one (apt-get source PACKAGE=VERSION: their sources):\n\n")
set(texts "")
foreach(package IN LISTS packages)
  execute_process(COMMAND ${dpkg_query} -W -f "\${Version}\n" ${package} OUTPUT_VARIABLE version
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "\n.*" "" version "${version}")
  string(APPEND list "${package} ${version}\n")
  file(COPY_FILE /usr/share/doc/${package}/copyright ${licences}/${package})
  file(STRINGS ${licences}/${package} lines REGEX "/usr/share/common-licenses/")
  string(REGEX MATCHALL "/usr/share/common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]" named "${lines}")
  list(APPEND texts ${named})
endforeach()
file(WRITE ${licences}/packages.txt "${list}")
list(REMOVE_DUPLICATES texts)
foreach(text IN LISTS texts)
  get_filename_component(name ${text} NAME)
  file(COPY_FILE ${text} ${licences}/${name})
endforeach()
