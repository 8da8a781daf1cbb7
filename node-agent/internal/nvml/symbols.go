package nvml

// call is a function of NVML that not every driver has, or not every board supports.
type call uint8

const (
	callDriverVersion call = iota
	callNVMLVersion
	callCUDAVersion2
	callCUDAVersion
	callCount
	callHandle
	callUUID
	callName
	callPCI

	callSerial
	callBrand
	callArchitecture
	callComputeCapability
	callVBIOS
	callInfoROM
	callBoardPart
	callMinor
	callBusWidth
	callCores
	callInstanceByID

	callUtilization
	callEncoder
	callDecoder
	callJPEG
	callOFA
	callSamples
	callMemoryV2
	callMemory
	callBAR1
	callComputeProcesses
	callMPSProcesses
	callGraphicsProcesses
	callProcessUtilization
	callPower
	callPowerLimit
	callPowerRequested
	callPowerDefault
	callPowerConstraints
	callEnergy
	callTemperatureV
	callTemperature
	callThreshold
	callMargin
	callClock
	callMaxClock
	callApplicationClock
	callEventReasons
	callThrottleReasons
	callReasonsSupported
	callThrottleReasonsSupported
	callPerformanceState
	callViolation
	callFields
	callPCIeThroughput
	callPCIeGeneration
	callPCIeWidth
	callPCIeMaxGeneration
	callPCIeMaxWidth
	callPCIeReplay
	callLinkState
	callECCTotal
	callECCMode
	callECCLocation
	callSRAM
	callRemapped
	callHistogram
	callUnrepairable
	callFabricV
	callFabric
	callPersistence
	callComputeMode
	callConfidential
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
	callEventInstances
	numCalls
)

// symbols are what a call needs of the library: all of them, where a|b is met by either. go-nvml picks the newest version
// of a function by itself, and falls back to the first.
var symbols = [numCalls][]string{
	callDriverVersion: {"nvmlSystemGetDriverVersion"},
	callNVMLVersion:   {"nvmlSystemGetNVMLVersion"},
	callCUDAVersion2:  {"nvmlSystemGetCudaDriverVersion_v2"},
	callCUDAVersion:   {"nvmlSystemGetCudaDriverVersion"},
	callCount:         {"nvmlDeviceGetCount_v2|nvmlDeviceGetCount"},
	callHandle:        {"nvmlDeviceGetHandleByIndex_v2|nvmlDeviceGetHandleByIndex"},
	callUUID:          {"nvmlDeviceGetUUID"},
	callName:          {"nvmlDeviceGetName"},
	callPCI:           {"nvmlDeviceGetPciInfo_v3|nvmlDeviceGetPciInfo_v2|nvmlDeviceGetPciInfo"},

	callSerial:            {"nvmlDeviceGetSerial"},
	callBrand:             {"nvmlDeviceGetBrand"},
	callArchitecture:      {"nvmlDeviceGetArchitecture"},
	callComputeCapability: {"nvmlDeviceGetCudaComputeCapability"},
	callVBIOS:             {"nvmlDeviceGetVbiosVersion"},
	callInfoROM:           {"nvmlDeviceGetInforomImageVersion"},
	callBoardPart:         {"nvmlDeviceGetBoardPartNumber"},
	callMinor:             {"nvmlDeviceGetMinorNumber"},
	callBusWidth:          {"nvmlDeviceGetMemoryBusWidth"},
	callCores:             {"nvmlDeviceGetNumGpuCores"},
	callInstanceByID:      {"nvmlDeviceGetGpuInstanceById", "nvmlGpuInstanceGetInfo"},

	callUtilization: {"nvmlDeviceGetUtilizationRates"},
	callEncoder:     {"nvmlDeviceGetEncoderUtilization"},
	callDecoder:     {"nvmlDeviceGetDecoderUtilization"},
	callJPEG:        {"nvmlDeviceGetJpgUtilization"},
	callOFA:         {"nvmlDeviceGetOfaUtilization"},
	callSamples:     {"nvmlDeviceGetSamples"},
	callMemoryV2:    {"nvmlDeviceGetMemoryInfo_v2"},
	callMemory:      {"nvmlDeviceGetMemoryInfo"},
	callBAR1:        {"nvmlDeviceGetBAR1MemoryInfo"},
	callComputeProcesses: {
		"nvmlDeviceGetComputeRunningProcesses_v3|nvmlDeviceGetComputeRunningProcesses_v2|nvmlDeviceGetComputeRunningProcesses",
	},
	callMPSProcesses: {
		"nvmlDeviceGetMPSComputeRunningProcesses_v3|nvmlDeviceGetMPSComputeRunningProcesses_v2|nvmlDeviceGetMPSComputeRunningProcesses",
	},
	callGraphicsProcesses: {
		"nvmlDeviceGetGraphicsRunningProcesses_v3|nvmlDeviceGetGraphicsRunningProcesses_v2|nvmlDeviceGetGraphicsRunningProcesses",
	},
	callProcessUtilization:       {"nvmlDeviceGetProcessUtilization"},
	callPower:                    {"nvmlDeviceGetPowerUsage"},
	callPowerLimit:               {"nvmlDeviceGetEnforcedPowerLimit"},
	callPowerRequested:           {"nvmlDeviceGetPowerManagementLimit"},
	callPowerDefault:             {"nvmlDeviceGetPowerManagementDefaultLimit"},
	callPowerConstraints:         {"nvmlDeviceGetPowerManagementLimitConstraints"},
	callEnergy:                   {"nvmlDeviceGetTotalEnergyConsumption"},
	callTemperatureV:             {"nvmlDeviceGetTemperatureV"},
	callTemperature:              {"nvmlDeviceGetTemperature"},
	callThreshold:                {"nvmlDeviceGetTemperatureThreshold"},
	callMargin:                   {"nvmlDeviceGetMarginTemperature"},
	callClock:                    {"nvmlDeviceGetClockInfo"},
	callMaxClock:                 {"nvmlDeviceGetMaxClockInfo"},
	callApplicationClock:         {"nvmlDeviceGetApplicationsClock"},
	callEventReasons:             {"nvmlDeviceGetCurrentClocksEventReasons"},
	callThrottleReasons:          {"nvmlDeviceGetCurrentClocksThrottleReasons"},
	callReasonsSupported:         {"nvmlDeviceGetSupportedClocksEventReasons"},
	callThrottleReasonsSupported: {"nvmlDeviceGetSupportedClocksThrottleReasons"},
	callPerformanceState:         {"nvmlDeviceGetPerformanceState"},
	callViolation:                {"nvmlDeviceGetViolationStatus"},
	callFields:                   {"nvmlDeviceGetFieldValues"},
	callPCIeThroughput:           {"nvmlDeviceGetPcieThroughput"},
	callPCIeGeneration:           {"nvmlDeviceGetCurrPcieLinkGeneration"},
	callPCIeWidth:                {"nvmlDeviceGetCurrPcieLinkWidth"},
	callPCIeMaxGeneration:        {"nvmlDeviceGetMaxPcieLinkGeneration"},
	callPCIeMaxWidth:             {"nvmlDeviceGetMaxPcieLinkWidth"},
	callPCIeReplay:               {"nvmlDeviceGetPcieReplayCounter"},
	callLinkState:                {"nvmlDeviceGetNvLinkState"},
	callECCTotal:                 {"nvmlDeviceGetTotalEccErrors"},
	callECCMode:                  {"nvmlDeviceGetEccMode"},
	callECCLocation:              {"nvmlDeviceGetMemoryErrorCounter"},
	callSRAM:                     {"nvmlDeviceGetSramEccErrorStatus"},
	callRemapped:                 {"nvmlDeviceGetRemappedRows"},
	callHistogram:                {"nvmlDeviceGetRowRemapperHistogram"},
	callUnrepairable:             {"nvmlDeviceGetUnrepairableMemoryFlag_v1"},
	callFabricV:                  {"nvmlDeviceGetGpuFabricInfoV"},
	callFabric:                   {"nvmlDeviceGetGpuFabricInfo"},
	callPersistence:              {"nvmlDeviceGetPersistenceMode"},
	callComputeMode:              {"nvmlDeviceGetComputeMode"},
	callConfidential:             {"nvmlSystemGetConfComputeState"},
	callFan:                      {"nvmlDeviceGetFanSpeed"},
	callMIGMode:                  {"nvmlDeviceGetMigMode"},
	callMIGCount:                 {"nvmlDeviceGetMaxMigDeviceCount"},
	callMIGHandle:                {"nvmlDeviceGetMigDeviceHandleByIndex"},
	callMIGGPUInstance:           {"nvmlDeviceGetGpuInstanceId"},
	callMIGComputeInstance:       {"nvmlDeviceGetComputeInstanceId"},
	callAttributes:               {"nvmlDeviceGetAttributes_v2|nvmlDeviceGetAttributes"},
	callGPM: {
		"nvmlGpmQueryDeviceSupport", "nvmlGpmSampleAlloc", "nvmlGpmSampleFree", "nvmlGpmSampleGet", "nvmlGpmMetricsGet",
	},
	callGPMInstance: {"nvmlGpmMigSampleGet"},
	callEvents: {
		"nvmlEventSetCreate", "nvmlEventSetFree", "nvmlEventSetWait_v2|nvmlEventSetWait", "nvmlDeviceRegisterEvents",
	},
	callEventTypes:     {"nvmlDeviceGetSupportedEventTypes"},
	callEventInstances: {"nvmlEventSetWait_v2"},
}
