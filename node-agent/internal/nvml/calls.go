package nvml

import (
	"log/slog"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// call is a function of NVML that not every driver has, or not every board supports.
type call uint8

const (
	callDriverVersion call = iota
	callUtilization
	callEncoder
	callDecoder
	callMemoryV2
	callMemory
	callPower
	callPowerLimit
	callEnergy
	callTemperature
	callMargin
	callClock
	callMaxClock
	callEventReasons
	callThrottleReasons
	callPerformanceState
	callFields
	callPCIeThroughput
	callPCIeGeneration
	callPCIeWidth
	callFan
	callMIGMode
	callMIGCount
	callMIGHandle
	callMIGGPUInstance
	callMIGComputeInstance
	callAttributes
	callGPM
	callGPMInstance
	callEvents
	callEventTypes
	numCalls
)

// symbols are what a call needs of the library: all of them. go-nvml picks the newest version of a function by itself,
// and falls back to the first, which every library has.
var symbols = [numCalls][]string{
	callDriverVersion:      {"nvmlSystemGetDriverVersion"},
	callUtilization:        {"nvmlDeviceGetUtilizationRates"},
	callEncoder:            {"nvmlDeviceGetEncoderUtilization"},
	callDecoder:            {"nvmlDeviceGetDecoderUtilization"},
	callMemoryV2:           {"nvmlDeviceGetMemoryInfo_v2"},
	callMemory:             {"nvmlDeviceGetMemoryInfo"},
	callPower:              {"nvmlDeviceGetPowerUsage"},
	callPowerLimit:         {"nvmlDeviceGetEnforcedPowerLimit"},
	callEnergy:             {"nvmlDeviceGetTotalEnergyConsumption"},
	callTemperature:        {"nvmlDeviceGetTemperature"},
	callMargin:             {"nvmlDeviceGetMarginTemperature"},
	callClock:              {"nvmlDeviceGetClockInfo"},
	callMaxClock:           {"nvmlDeviceGetMaxClockInfo"},
	callEventReasons:       {"nvmlDeviceGetCurrentClocksEventReasons"},
	callThrottleReasons:    {"nvmlDeviceGetCurrentClocksThrottleReasons"},
	callPerformanceState:   {"nvmlDeviceGetPerformanceState"},
	callFields:             {"nvmlDeviceGetFieldValues"},
	callPCIeThroughput:     {"nvmlDeviceGetPcieThroughput"},
	callPCIeGeneration:     {"nvmlDeviceGetCurrPcieLinkGeneration"},
	callPCIeWidth:          {"nvmlDeviceGetCurrPcieLinkWidth"},
	callFan:                {"nvmlDeviceGetFanSpeed"},
	callMIGMode:            {"nvmlDeviceGetMigMode"},
	callMIGCount:           {"nvmlDeviceGetMaxMigDeviceCount"},
	callMIGHandle:          {"nvmlDeviceGetMigDeviceHandleByIndex"},
	callMIGGPUInstance:     {"nvmlDeviceGetGpuInstanceId"},
	callMIGComputeInstance: {"nvmlDeviceGetComputeInstanceId"},
	callAttributes:         {"nvmlDeviceGetAttributes"},
	callGPM: {
		"nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc", "nvmlGpmSampleFree", "nvmlGpmSampleGet", "nvmlGpmMetricsGet",
	},
	callGPMInstance: {"nvmlGpmMigSampleGet"},
	callEvents:      {"nvmlEventSetCreate", "nvmlEventSetFree", "nvmlEventSetWait", "nvmlDeviceRegisterEvents"},
	callEventTypes:  {"nvmlDeviceGetSupportedEventTypes"},
}

// library is NVML with what is known about it. It is safe for concurrent use, but for forget.
type library struct {
	api nvml.Interface
	now func() time.Time
	log *slog.Logger
	// gpm lets one board at a time use GPM: parallel calls were seen to crash the driver.
	gpm chan struct{}

	mu      sync.Mutex
	present map[call]bool
	retired []*board
}

func newLibrary(api nvml.Interface, now func() time.Time, log *slog.Logger) *library {
	return &library{api: api, now: now, log: log, gpm: make(chan struct{}, 1), present: map[call]bool{}}
}

// has reports whether the library offers a call. Only then may it be made.
func (l *library) has(c call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.present[c]
	if ok {
		return known
	}
	known = true
	for _, name := range symbols[c] {
		if err := l.api.Extensions().LookupSymbol(name); err != nil {
			known = false
			l.log.Info("The installed driver lacks a function; readings that need it are shown as not supported",
				"function", name)
		}
	}
	l.present[c] = known
	return known
}

// retire keeps a board that is no longer listed, until its buffers can be given back.
func (l *library) retire(b *board) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retired = append(l.retired, b)
}

// drain is the boards that were retired since it was last called.
func (l *library) drain() []*board {
	l.mu.Lock()
	defer l.mu.Unlock()
	boards := l.retired
	l.retired = nil
	return boards
}

// forget drops what was found out about the library, which may be another one when it is opened again.
func (l *library) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.present = map[call]bool{}
}
