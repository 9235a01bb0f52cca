/* A program of NCCL's users, in C: two processes, one rank each, over plain memory. Without RONDO_NCCL_HOST it says why that can't be, and exits with 3. */
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 100000 };

static int complain(const char* what, ncclResult_t result) {
  fprintf(stderr, "%s: %s: %s\n", what, ncclGetErrorString(result), ncclGetLastError(NULL));
  return result == ncclInvalidUsage || result == ncclUnhandledCudaError ? 3 : 1;
}

static int run_rank(int rank, int from_first, int to_second) {
  ncclUniqueId id;
  ncclResult_t result = ncclSuccess;
  if (rank == 0) {
    if ((result = ncclGetUniqueId(&id)) != ncclSuccess) return complain("id", result);
    if (write(to_second, &id, sizeof id) != sizeof id) return 1;
  } else if (read(from_first, &id, sizeof id) != sizeof id) {
    return 1;
  }
  ncclComm_t comm;
  if ((result = ncclCommInitRank(&comm, 2, id, rank)) != ncclSuccess) return complain("init", result);
  float* data = malloc(COUNT * sizeof(float));
  for (int i = 0; i < COUNT; ++i) data[i] = (float)(rank + i % 7);
  if ((result = ncclAllReduce(data, data, COUNT, ncclFloat, ncclSum, comm, NULL)) != ncclSuccess) return complain("all_reduce", result);
  int wrong = 0;
  for (int i = 0; i < COUNT; ++i) wrong += data[i] != (float)(1 + 2 * (i % 7));
  free(data);
  if ((result = ncclCommDestroy(comm)) != ncclSuccess) return complain("destroy", result);
  return wrong == 0 ? 0 : 1;
}

int main(void) {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const pid_t child = fork();
  if (child < 0) return 1;
  const int failed = run_rank(child == 0, ends[0], ends[1]);
  if (child == 0) _exit(failed);
  int status = 0;
  waitpid(child, &status, 0);
  const int other = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return failed != 0 ? failed : other;
}
