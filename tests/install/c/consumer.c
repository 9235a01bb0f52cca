/* A C program of somebody else: one rank adds up with itself, and a wrong call is told. */
#include <rondo/rondo.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  rondo_communicator* communicator = NULL;
  float values[3] = {1, 2, 3};
  if (rondo_version() < RONDO_VERSION_MAJOR * 10000 + RONDO_VERSION_MINOR * 100) return 1;
  if (rondo_create_in_process(1, 0, &communicator) != RONDO_SUCCESS) {
    fprintf(stderr, "%s\n", rondo_last_error());
    return 1;
  }
  if (rondo_all_reduce(communicator, values, values, 3, RONDO_F32, RONDO_SUM) != RONDO_SUCCESS) return 1;
  if (values[0] != 1 || values[2] != 3) return 1;
  if (rondo_all_reduce(communicator, NULL, values, 3, RONDO_F32, RONDO_SUM) != RONDO_INVALID_ARGUMENT) return 1;
  if (strstr(rondo_last_error(), "null") == NULL) return 1;
  rondo_destroy(communicator);
  printf("c: %g %g %g\n", values[0], values[1], values[2]);
  return 0;
}
