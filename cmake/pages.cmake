# Run by `cmake --install` at its end (Install.cmake, which sets bundle, share): the command in PREFIX/bin, and the
# pages that the installed program prints itself.
get_filename_component(prefix ${bundle}/../.. ABSOLUTE)
file(MAKE_DIRECTORY ${prefix}/bin)
file(REMOVE ${prefix}/bin/ptyche)
file(CREATE_LINK ../lib/ptyche/bin/ptyche ${prefix}/bin/ptyche SYMBOLIC)

# The installed program prints these, which also shows that it runs.
function(printed file)
  get_filename_component(folder ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${prefix}/bin/ptyche ${ARGN} OUTPUT_FILE ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
printed(${share}/bash-completion/completions/ptyche completion bash)
printed(${share}/zsh/site-functions/_ptyche completion zsh)
printed(${share}/fish/vendor_completions.d/ptyche.fish completion fish)
execute_process(COMMAND ${prefix}/bin/ptyche __man ${share}/man/man1 COMMAND_ERROR_IS_FATAL ANY)
