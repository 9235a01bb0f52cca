// In the place of NVIDIA's driver: its one function that Rondo calls.
extern int rondo_made_up_wait_value(void* stream, const void* word, unsigned long long value);

int cuStreamWaitValue64_v2(void* stream, unsigned long long word, unsigned long long value, unsigned flags) {
  return flags != 0 ? 1 : rondo_made_up_wait_value(stream, (const void*)word, value);
}
