package nvml

import (
	"errors"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/warpwatch/warpwatch/node-agent/internal/device"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

var errFailed = errors.New("NVML failed")

// stateOf is the state of a reading for which NVML answered ret.
func stateOf(ret nvml.Return) gpu.State {
	switch ret {
	case nvml.SUCCESS:
		return gpu.OK
	case nvml.ERROR_NO_PERMISSION:
		return gpu.NoPermission
	case nvml.ERROR_GPU_IS_LOST, nvml.ERROR_RESET_REQUIRED:
		return gpu.Lost
	}
	if isFinal(ret) {
		return gpu.NotSupported
	}
	return gpu.NoData
}

// isFinal reports whether asking again is pointless as long as the driver stays open.
func isFinal(ret nvml.Return) bool {
	switch ret {
	case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_FUNCTION_NOT_FOUND, nvml.ERROR_ARGUMENT_VERSION_MISMATCH, nvml.ERROR_DEPRECATED:
		return true
	}
	return false
}

// isLost reports whether the whole board does not answer.
func isLost(ret nvml.Return) bool {
	return ret == nvml.ERROR_GPU_IS_LOST || ret == nvml.ERROR_RESET_REQUIRED
}

// failure is the error for a call that decides more than a reading.
func failure(act string, ret nvml.Return) error {
	e := &device.Error{Act: act, Code: codeName(ret), Kind: errFailed}
	switch ret {
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		e.Kind = device.ErrNoDriver
		e.Hint = "libnvidia-ml.so.1 is missing, or is the stub that comes with CUDA; on a node with GPUs install the driver, " +
			"in a container use the NVIDIA runtime"
	case nvml.ERROR_DRIVER_NOT_LOADED:
		e.Kind = device.ErrNoDriver
		e.Hint = "the nvidia kernel module is not loaded"
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		e.Kind = device.ErrMismatch
		e.Hint = "reboot the node or reload the nvidia kernel module; if that was done, restart this agent, which holds the " +
			"library it started with"
	case nvml.ERROR_UNKNOWN:
		e.Kind = device.ErrNoAccess
		e.Hint = "in a container this happens when systemd reloads its units on the host: the container must be created again"
	case nvml.ERROR_NO_PERMISSION:
		e.Kind = device.ErrNoPermission
		e.Hint = "the agent's user must be able to open /dev/nvidiactl and /dev/nvidia0"
	case nvml.ERROR_GPU_IS_LOST:
		e.Kind = device.ErrLost
		e.Hint = "it fell off the bus; reboot the node, and if it happens again have the board inspected"
	case nvml.ERROR_RESET_REQUIRED:
		e.Kind = device.ErrLost
		e.Hint = "the GPU must be reset: nvidia-smi --gpu-reset"
	case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_FUNCTION_NOT_FOUND:
		e.Kind = device.ErrNotSupported
	}
	return e
}

var codeNames = map[nvml.Return]string{
	nvml.ERROR_UNINITIALIZED: "ERROR_UNINITIALIZED", nvml.ERROR_INVALID_ARGUMENT: "ERROR_INVALID_ARGUMENT",
	nvml.ERROR_NOT_SUPPORTED: "ERROR_NOT_SUPPORTED", nvml.ERROR_NO_PERMISSION: "ERROR_NO_PERMISSION",
	nvml.ERROR_NOT_FOUND: "ERROR_NOT_FOUND", nvml.ERROR_DRIVER_NOT_LOADED: "ERROR_DRIVER_NOT_LOADED",
	nvml.ERROR_TIMEOUT: "ERROR_TIMEOUT", nvml.ERROR_LIBRARY_NOT_FOUND: "ERROR_LIBRARY_NOT_FOUND",
	nvml.ERROR_FUNCTION_NOT_FOUND: "ERROR_FUNCTION_NOT_FOUND", nvml.ERROR_GPU_IS_LOST: "ERROR_GPU_IS_LOST",
	nvml.ERROR_RESET_REQUIRED: "ERROR_RESET_REQUIRED", nvml.ERROR_OPERATING_SYSTEM: "ERROR_OPERATING_SYSTEM",
	nvml.ERROR_INSUFFICIENT_SIZE: "ERROR_INSUFFICIENT_SIZE", nvml.ERROR_IN_USE: "ERROR_IN_USE",
	nvml.ERROR_ARGUMENT_VERSION_MISMATCH: "ERROR_ARGUMENT_VERSION_MISMATCH", nvml.ERROR_DEPRECATED: "ERROR_DEPRECATED",
	nvml.ERROR_LIB_RM_VERSION_MISMATCH: "ERROR_LIB_RM_VERSION_MISMATCH", nvml.ERROR_UNKNOWN: "ERROR_UNKNOWN",
}

// codeName is NVML's name for a code. Return.Error asks the loaded library instead, whose texts differ by version.
func codeName(ret nvml.Return) string {
	if name, ok := codeNames[ret]; ok {
		return name
	}
	return ret.Error()
}
