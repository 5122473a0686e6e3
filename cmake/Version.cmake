# The commit goes into every result file. Read at configure time, which is repeated after each commit
# (git's log of HEAD changes then); a checkout without git says "unknown",
# and the manual pages carry the day of the build then.
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} rev-parse --verify --short=12 HEAD
                OUTPUT_VARIABLE PTYCHE_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT PTYCHE_COMMIT)
  set(PTYCHE_COMMIT unknown)
endif()
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} log -1 --format=%cs
                OUTPUT_VARIABLE PTYCHE_COMMIT_DATE OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT PTYCHE_COMMIT_DATE)
  string(TIMESTAMP PTYCHE_COMMIT_DATE %Y-%m-%d UTC)
endif()
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} rev-parse --git-path logs/HEAD
                WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                OUTPUT_VARIABLE head_log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(head_log)
  get_filename_component(head_log ${head_log} ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
  if(EXISTS ${head_log})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${head_log})
  endif()
endif()
configure_file(${CMAKE_SOURCE_DIR}/cmake/version.h.in ${CMAKE_BINARY_DIR}/generated/ptyche_version.h)
include_directories(${CMAKE_BINARY_DIR}/generated)
