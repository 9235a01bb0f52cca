// A library with NVML's functions that tells of a made-up machine: four GPUs, of which the first two have four NVLinks to one another, two to a switch and
// two to another; the third has eight to the switches, the fourth none. Only the first two reach one another over PCI. With FAILS it can't start.
#include <stdio.h>
#include <string.h>

struct pci {
  char short_address[16];
  unsigned domain, bus, device, ids, subsystem_ids;
  char address[32];
};

static const unsigned buses[] = {0x06, 0x07, 0x0a, 0xc1};
static int started;

static unsigned number_of(void* device) { return (unsigned)((char*)device - (char*)buses); }

int nvmlInitWithFlags(unsigned flags) {
#ifdef FAILS
  return 9;  // NVML_ERROR_DRIVER_NOT_LOADED
#endif
  started += flags == 0;
  return 0;
}

int nvmlShutdown(void) {
  --started;
  return 0;
}

const char* nvmlErrorString(int status) { return status == 9 ? "Driver Not Loaded" : "other"; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 5;
  return started == 1 ? 0 : 1;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index == 2) return 15;  // NVML_ERROR_GPU_IS_LOST
  *device = (char*)buses + (index > 2 ? index - 1 : index);
  return 0;
}

static void fill(struct pci* info, unsigned bus) {
  memset(info, 0, sizeof *info);
  info->bus = bus;
  snprintf(info->address, sizeof info->address, "00000000:%02X:00.0", bus);
}

int nvmlDeviceGetPciInfo_v3(void* device, struct pci* info) {
  fill(info, buses[number_of(device)]);
  return 0;
}

int nvmlDeviceGetName(void* device, char* name, unsigned length) {
  snprintf(name, length, "Made-up %u", number_of(device));
  return 0;
}

int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  (void)device;
  *major = 9;
  *minor = 0;
  return 0;
}

int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  if (number_of(device) == 3) return 3;  // NVML_ERROR_NOT_SUPPORTED
  *active = link < 8;
  return 0;
}

static int to_a_gpu(void* device, unsigned link) { return number_of(device) < 2 && link < 4; }

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, struct pci* info) {
  fill(info, to_a_gpu(device, link) ? buses[1 - number_of(device)] : 0x80 + link / 2 % 2);
  return 0;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned link, unsigned* type) {
  *type = to_a_gpu(device, link) ? 0 : 2;
  return 0;
}

int nvmlDeviceGetP2PStatus(void* one, void* other, unsigned capability, unsigned* state) {
  *state = capability == 0 && number_of(one) + number_of(other) == 1 ? 0 : 3;
  return 0;
}
