/* A C program of somebody else: one rank adds up with itself in every manner of calling, and wrong calls are told. */
#include <rondo/rondo.h>
#include <stdio.h>
#include <string.h>

/* Whether a call ended as it should, and a failure's text has `word`. */
static int ended(rondo_status got, rondo_status wanted, const char* word) {
  if (got == wanted && (wanted == RONDO_SUCCESS || strstr(rondo_last_error(), word) != NULL)) return 1;
  fprintf(stderr, "wanted %s with '%s', got %s: %s\n", rondo_status_name(wanted), word, rondo_status_name(got), rondo_last_error());
  return 0;
}

static int use_values(rondo_communicator* communicator, float* values) {
  rondo_work* work = NULL;
  uint32_t source = 0;
  rondo_call call = {.size = sizeof call, .collective = RONDO_SCAN, .type = RONDO_F32, .op = RONDO_PREMUL_SUM, .count = 3, .factor = 2};
  call.input = values;
  call.output = values;
  if (!ended(rondo_run(communicator, &call), RONDO_SUCCESS, "")) return 0;
  call.factor = 0.5;
  if (!ended(rondo_start(communicator, &call, &work), RONDO_SUCCESS, "")) return 0;
  if (!ended(rondo_work_wait_for(work, 60), RONDO_SUCCESS, "") || !ended(rondo_work_source(work, &source), RONDO_SUCCESS, "")) return 0;
  rondo_work_destroy(work);
  call.type = (rondo_type)256;
  return source == RONDO_NO_RANK && ended(rondo_run(communicator, &call), RONDO_INVALID_ARGUMENT, "unknown type 256") &&
         ended(rondo_all_reduce(communicator, values, values, 3, RONDO_F32, (rondo_op)-1), RONDO_INVALID_ARGUMENT, "unknown operation -1");
}

static int show(rondo_communicator* communicator) {
  char *topology = NULL, *record = NULL;
  int good = ended(rondo_topology(communicator, &topology), RONDO_SUCCESS, "") && ended(rondo_flight_record(communicator, &record), RONDO_SUCCESS, "") &&
             strstr(topology, "\"ranks\"") != NULL && strstr(record, "scan of 3 f32") != NULL;
  rondo_text_destroy(topology);
  rondo_text_destroy(record);
  return good;
}

int main(void) {
  rondo_communicator* communicator = NULL;
  float values[3] = {1, 2, 3};
  rondo_options options = {.size = sizeof options, .timeout_seconds = 60, .transport = "pigeon"};
  if (rondo_version() < RONDO_VERSION_MAJOR * 10000 + RONDO_VERSION_MINOR * 100) return 1;
  if (!ended(rondo_create_in_process_with_options(1, &options, &communicator), RONDO_INVALID_ARGUMENT, "pigeon")) return 1;
  options.transport = NULL;
  if (!ended(rondo_create_in_process_with_options(1, &options, &communicator), RONDO_SUCCESS, "")) return 1;
  if (!ended(rondo_all_reduce(communicator, values, values, 3, RONDO_F32, RONDO_SUM), RONDO_SUCCESS, "")) return 1;
  if (!ended(rondo_all_reduce(communicator, NULL, values, 3, RONDO_F32, RONDO_SUM), RONDO_INVALID_ARGUMENT, "null")) return 1;
  if (!use_values(communicator, values) || !show(communicator)) return 1;
  rondo_destroy(communicator);
  printf("c: %g %g %g\n", values[0], values[1], values[2]);
  return 0;
}
