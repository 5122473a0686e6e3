// Compiled only for its precompiled header (cmake/Options.cmake).
