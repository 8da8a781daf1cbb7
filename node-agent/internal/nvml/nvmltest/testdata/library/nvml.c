// A few lines that look like libnvidia-ml.so.1 from outside: some GPUs with a handful of readings. Built with -DOLD it has
// only what a driver from 2020 has. The environment says how it behaves, at any time:
//
//   FAKE_NVML_MODE      "lost" GPU 1 is lost, "hang" reading GPU 1 never comes back, "mismatch", "stub", "late"
//   FAKE_NVML_SECONDS   how long the GPUs have been drawing power
//   FAKE_NVML_GPUS      how many there are, 2 without it and 8 at most

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int ret_t;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef struct gpu { int index; } *gpu_t;

enum { OK = 0, UNINITIALIZED = 1, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT = 7, TIMED_OUT = 10, NO_LIBRARY = 12,
       LOST = 15, MISMATCH = 18, WRONG_VERSION = 25 };

static struct gpu gpus[8] = { {0}, {1}, {2}, {3}, {4}, {5}, {6}, {7} };
static int opened, counted;

static u32 total(void) {
  const char *now = getenv("FAKE_NVML_GPUS");
  u32 n = now ? (u32)atoi(now) : 2;
  return n < 8 ? n : 8;
}

static int mode(const char *name) {
  const char *now = getenv("FAKE_NVML_MODE");
  return now && !strcmp(now, name);
}

static double seconds(void) {
  const char *now = getenv("FAKE_NVML_SECONDS");
  return now ? atof(now) : 0;
}

// enter is what every reading of a GPU begins with.
static ret_t enter(gpu_t g) {
  if (!opened) return UNINITIALIZED;
  if (g < &gpus[0] || g > &gpus[7]) return INVALID;
  if (g->index == 1 && mode("lost")) return LOST;
  while (g->index == 1 && mode("hang")) usleep(20000);
  return OK;
}

#define READ(g) do { ret_t r = enter(g); if (r) return r; } while (0)

ret_t nvmlInit_v2(void) {
  if (mode("mismatch")) return MISMATCH;
  if (mode("stub")) {
    puts("WARNING: You should always run with libnvidia-ml.so that is installed with your NVIDIA Display Driver.");
    return NO_LIBRARY;
  }
  opened++;
  return OK;
}
ret_t nvmlInit(void) { return nvmlInit_v2(); }
ret_t nvmlInitWithFlags(u32 flags) { (void)flags; return nvmlInit_v2(); }
ret_t nvmlShutdown(void) { if (!opened) return UNINITIALIZED; opened--; return OK; }
const char *nvmlErrorString(ret_t r) { (void)r; return "fake"; }

static ret_t text(char *into, u32 size, const char *from) {
  if (strlen(from) >= size) return INSUFFICIENT;
  strcpy(into, from);
  return OK;
}
ret_t nvmlSystemGetDriverVersion(char *v, u32 n) { return text(v, n, "450.80.02"); }
ret_t nvmlSystemGetNVMLVersion(char *v, u32 n) { return text(v, n, "11.450.80.02"); }
ret_t nvmlSystemGetCudaDriverVersion(int *v) { *v = 11000; return OK; }

ret_t nvmlDeviceGetCount_v2(u32 *n) {
  if (!opened) return UNINITIALIZED;
  *n = total();
  if (mode("late")) *n = counted++ < 1 ? 0 : 1;
  return OK;
}
ret_t nvmlDeviceGetCount(u32 *n) { return nvmlDeviceGetCount_v2(n); }
ret_t nvmlDeviceGetHandleByIndex_v2(u32 i, gpu_t *g) {
  if (!opened) return UNINITIALIZED;
  if (i >= total()) return INVALID;
  if (i == 1 && mode("lost")) return LOST;
  *g = &gpus[i];
  return OK;
}
ret_t nvmlDeviceGetHandleByIndex(u32 i, gpu_t *g) { return nvmlDeviceGetHandleByIndex_v2(i, g); }
ret_t nvmlDeviceGetUUID(gpu_t g, char *v, u32 n) {
  READ(g);
  char id[] = "GPU-5eed0000-0000-4000-8000-000000000000";
  id[sizeof id - 2] += g->index;
  return text(v, n, id);
}
ret_t nvmlDeviceGetName(gpu_t g, char *v, u32 n) { READ(g); return text(v, n, "Tesla T4"); }

typedef struct { char legacy[16]; u32 domain, bus, device, id, subsystem; char bus_id[32]; } pci_t;
ret_t nvmlDeviceGetPciInfo_v3(gpu_t g, pci_t *p) {
  READ(g);
  memset(p, 0, sizeof *p);
  p->bus = 0x1a + g->index;
  snprintf(p->bus_id, sizeof p->bus_id, "00000000:%02X:00.0", p->bus);
  return OK;
}

ret_t nvmlDeviceGetPowerUsage(gpu_t g, u32 *mw) { READ(g); *mw = 33000; return OK; }
ret_t nvmlDeviceGetTotalEnergyConsumption(gpu_t g, u64 *mj) { READ(g); *mj = 1000 + (u64)(33000 * seconds()); return OK; }
ret_t nvmlDeviceGetTemperature(gpu_t g, int sensor, u32 *c) { READ(g); (void)sensor; *c = 61; return OK; }
ret_t nvmlDeviceGetUtilizationRates(gpu_t g, u32 *u) { READ(g); u[0] = 40; u[1] = 12; return OK; }
ret_t nvmlDeviceGetClockInfo(gpu_t g, int kind, u32 *mhz) { READ(g); *mhz = kind == 2 ? 5000 : 1590; return OK; }
ret_t nvmlDeviceGetPerformanceState(gpu_t g, int *p) { READ(g); *p = 0; return OK; }
ret_t nvmlDeviceGetFanSpeed(gpu_t g, u32 *p) { READ(g); (void)p; return NOT_SUPPORTED; }
ret_t nvmlDeviceGetMemoryInfo(gpu_t g, u64 *m) {
  READ(g);
  m[0] = 15843721216ull, m[2] = 3221225472ull, m[1] = m[0] - m[2];
  return OK;
}

typedef struct { u32 id, scope; long long timestamp, latency; int type, ret; union { u32 u; u64 ull; } value; } field_t;
ret_t nvmlDeviceGetFieldValues(gpu_t g, int n, field_t *f) {
  READ(g);
  for (int i = 0; i < n; i++) {
    f[i].ret = f[i].id == 83 || f[i].id == 94 ? OK : NOT_SUPPORTED;
    f[i].type = f[i].id == 83 ? 3 : 1;
    f[i].value.ull = f[i].id == 83 ? 1000 + (u64)(33000 * seconds()) : 0;
  }
  return OK;
}

typedef struct { u32 pid; u64 memory; } process1_t;
ret_t nvmlDeviceGetComputeRunningProcesses(gpu_t g, u32 *n, process1_t *p) {
  READ(g);
  if (*n < 1) { *n = 1; return INSUFFICIENT; }
  *n = 1;
  p[0].pid = 4242, p[0].memory = 1 << 30;
  return OK;
}
ret_t nvmlDeviceGetGraphicsRunningProcesses(gpu_t g, u32 *n, process1_t *p) { READ(g); (void)p; *n = 0; return OK; }
ret_t nvmlDeviceGetProcessUtilization(gpu_t g, void *p, u32 *n, u64 since) { READ(g); (void)p; (void)since; *n = 0; return NOT_FOUND; }

typedef struct { gpu_t gpu; u64 type, data; u32 gi, ci; } event_t;
ret_t nvmlEventSetCreate(void **set) { *set = gpus; return OK; }
ret_t nvmlEventSetFree(void *set) { (void)set; return OK; }
ret_t nvmlEventSetWait_v2(void *set, event_t *e, u32 ms) {
  (void)set; (void)e;
  usleep((ms < 20 ? ms : 20) * 1000);
  return TIMED_OUT;
}
ret_t nvmlEventSetWait(void *set, event_t *e, u32 ms) { return nvmlEventSetWait_v2(set, e, ms); }
ret_t nvmlDeviceGetSupportedEventTypes(gpu_t g, u64 *t) { READ(g); *t = 8; return OK; }
ret_t nvmlDeviceRegisterEvents(gpu_t g, u64 t, void *set) { READ(g); (void)t; (void)set; return OK; }

#ifndef OLD
typedef struct { u32 version; u64 total, reserved, free, used; } memory2_t;
ret_t nvmlDeviceGetMemoryInfo_v2(gpu_t g, memory2_t *m) {
  READ(g);
  if (m->version != (sizeof *m | 2u << 24)) return WRONG_VERSION;
  m->total = 15843721216ull, m->reserved = 463470592ull, m->used = 2757754880ull;
  m->free = m->total - m->reserved - m->used;
  return OK;
}
typedef struct { u32 version; int margin; } margin_t;
ret_t nvmlDeviceGetMarginTemperature(gpu_t g, margin_t *m) {
  READ(g);
  if (m->version != (sizeof *m | 1u << 24)) return WRONG_VERSION;
  m->margin = 35;
  return OK;
}
typedef struct { u32 pid; u64 memory; u32 gi, ci; } process3_t;
ret_t nvmlDeviceGetComputeRunningProcesses_v3(gpu_t g, u32 *n, process3_t *p) {
  READ(g);
  if (*n < 1) { *n = 1; return INSUFFICIENT; }
  *n = 1;
  p[0] = (process3_t){4242, 1 << 30, ~0u, ~0u};
  return OK;
}

typedef struct { u32 version, supported; } gpm_support_t;
typedef struct { u32 id, ret; double value; char *text[3]; } gpm_metric_t;
typedef struct { u32 version, n; void *from, *to; gpm_metric_t metrics[]; } gpm_get_t;
ret_t nvmlGpmQueryDeviceSupport(gpu_t g, gpm_support_t *s) { READ(g); s->supported = 1; return OK; }
ret_t nvmlGpmSampleAlloc(double **s) { return (*s = calloc(1, sizeof **s)) ? OK : 999; }
ret_t nvmlGpmSampleFree(double *s) { free(s); return OK; }
ret_t nvmlGpmSampleGet(gpu_t g, double *s) { READ(g); *s = seconds(); return OK; }
ret_t nvmlGpmMetricsGet(gpm_get_t *m) {
  if (m->version != 1) return WRONG_VERSION;
  if (*(double *)m->to - *(double *)m->from < 0.1) return INVALID;
  for (u32 i = 0; i < m->n; i++) {
    m->metrics[i].ret = m->metrics[i].id <= 10 ? OK : NOT_SUPPORTED;
    m->metrics[i].value = 42;
  }
  return OK;
}
#endif
