// Preloaded (LD_PRELOAD) before the program: makes the Nth write to a regular file fail, and every
// one after it, as a full or a broken disk does. PTYCHE_FAIL_AT = N from 1 (0 = none, count only),
// PTYCHE_FAIL_WITH = number of the error, PTYCHE_FAIL_COUNT = file that gets the number of writes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static long writes = 0;

static int regular(int descriptor) {
  struct stat found;
  return descriptor > 2 && fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode);
}

// Whether this one fails; counts it.
static int fails(void) {
  const char* at = getenv("PTYCHE_FAIL_AT");
  const long first = at ? atol(at) : 0;
  const long now = __atomic_add_fetch(&writes, 1, __ATOMIC_RELAXED);
  if (first == 0 || now < first) return 0;
  const char* with = getenv("PTYCHE_FAIL_WITH");
  errno = with ? atoi(with) : ENOSPC;
  return 1;
}

#define REAL(name) __typeof__(name)* real = (__typeof__(name)*)dlsym(RTLD_NEXT, #name)

ssize_t write(int descriptor, const void* bytes, size_t count) {
  REAL(write);
  return regular(descriptor) && fails() ? -1 : real(descriptor, bytes, count);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t count, off_t place) {
  REAL(pwrite);
  return regular(descriptor) && fails() ? -1 : real(descriptor, bytes, count, place);
}

ssize_t writev(int descriptor, const struct iovec* parts, int count) {
  REAL(writev);
  return regular(descriptor) && fails() ? -1 : real(descriptor, parts, count);
}

int fsync(int descriptor) {
  REAL(fsync);
  return regular(descriptor) && fails() ? -1 : real(descriptor);
}

size_t fwrite(const void* bytes, size_t size, size_t count, FILE* file) {
  REAL(fwrite);
  return regular(fileno(file)) && fails() ? 0 : real(bytes, size, count, file);
}

__attribute__((destructor)) static void report(void) {
  const char* file = getenv("PTYCHE_FAIL_COUNT");
  if (!file) return;
  FILE* out = fopen(file, "w");
  if (!out) return;
  fprintf(out, "%ld\n", writes);
  fclose(out);
}
