package kubelet

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Folders in which the kubelet names what it logs. Only the names are read, never the logs.
const (
	DefaultPodLogs       = "/var/log/pods"
	DefaultContainerLogs = "/var/log/containers"
)

const (
	maxEntries  = 16384 // read of a folder
	containerID = 64    // digits of a container's id
)

// Pod is a pod by its names.
type Pod struct{ Namespace, Name string }

// Names tell which pod and container an id of a control group means. The PodResources service does not tell such ids.
type Names struct {
	Pods       map[string]Pod    // by UID
	Containers map[string]string // name of the container, by its id
}

// ReadNames reads the names of the folders' entries. A folder that is not there is empty.
func ReadNames(podLogs, containerLogs string) (Names, error) {
	n := Names{Pods: map[string]Pod{}, Containers: map[string]string{}}
	pods, err := entries(podLogs)
	if err != nil {
		return n, err
	}
	for _, entry := range pods {
		if pod, uid, ok := parsePodLog(entry); ok {
			n.Pods[uid] = pod
		}
	}
	containers, err := entries(containerLogs)
	if err != nil {
		return n, err
	}
	for _, entry := range containers {
		if name, id, ok := parseContainerLog(entry); ok {
			n.Containers[id] = name
		}
	}
	return n, nil
}

// parsePodLog reads "namespace_name_uid". Names in Kubernetes have no underscore.
func parsePodLog(entry string) (pod Pod, uid string, ok bool) {
	parts := strings.Split(entry, "_")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return Pod{}, "", false
	}
	return Pod{Namespace: parts[0], Name: parts[1]}, parts[2], true
}

// parseContainerLog reads "pod_namespace_container-<id>.log".
func parseContainerLog(entry string) (name, id string, ok bool) {
	entry, ok = strings.CutSuffix(entry, ".log")
	parts := strings.Split(entry, "_")
	if !ok || len(parts) != 3 {
		return "", "", false
	}
	last := parts[2]
	at := len(last) - containerID
	if at < 2 || last[at-1] != '-' {
		return "", "", false
	}
	return last[:at-1], last[at:], true
}

// entries are the names in a folder, none when it is not there or none was given.
func entries(folder string) ([]string, error) {
	if folder == "" {
		return nil, nil
	}
	f, err := os.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the names of pods: %w", err)
	}
	defer f.Close()
	names, err := f.Readdirnames(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the names of pods: %w", err)
	}
	return names, nil
}
