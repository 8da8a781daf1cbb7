// Package kubelet asks the kubelet which containers were given which devices, by its PodResources service on a Unix
// socket. It only reads.
package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// DefaultSocket is where the kubelet listens.
const DefaultSocket = "/var/lib/kubelet/pod-resources/kubelet.sock"

// Driver is the name of NVIDIA's DRA driver for GPUs.
const Driver = "gpu.nvidia.com"

// ErrAbsent says that there is no kubelet on this node.
var ErrAbsent = errors.New("no kubelet listens here")

const (
	defaultTimeout = 5 * time.Second
	maxMessage     = 16 << 20 // bytes of an answer, as the kubelet itself allows its clients
	maxGrants      = 16384
	maxName        = 253 // bytes that Kubernetes allows for a name
	reconnectAfter = 5 * time.Second
)

// Grant is one device that one container was given.
type Grant struct {
	Namespace, Pod, Container string

	ID string // of the device plugin, "" for a DRA claim

	Claim  string   // "namespace/name" of a DRA claim, "" for a device plugin's device
	Device string   // its name in the driver's pool
	CDI    []string // names of its CDI devices
	Share  string   // of a device that several claims share
}

// Options of a Client.
type Options struct {
	Socket    string   // "" means DefaultSocket
	Resources []string // further names of resources that are GPUs, beside nvidia.com/gpu, nvidia.com/gpu.shared and nvidia.com/mig-…
	Timeout   time.Duration
}

// Client asks one kubelet. It connects when asked first and again whenever the kubelet was restarted.
type Client struct {
	o      Options
	conn   *grpc.ClientConn
	lister podresources.PodResourcesListerClient
}

// New prepares a client; nothing is connected yet.
func New(o Options) (*Client, error) {
	if o.Socket == "" {
		o.Socket = DefaultSocket
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	conn, err := grpc.NewClient("unix:"+o.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectAfter}, MinConnectTimeout: reconnectAfter,
		}))
	if err != nil {
		return nil, fmt.Errorf("prepare to ask the kubelet at %s: %w", o.Socket, err)
	}
	return &Client{o: o, conn: conn, lister: podresources.NewPodResourcesListerClient(conn)}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// List tells which container was given what. dropped is how many grants were too many to keep. The error is ErrAbsent
// where there is no kubelet.
func (c *Client) List(ctx context.Context) (grants []Grant, dropped int, err error) {
	if _, err := os.Stat(c.o.Socket); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, 0, ErrAbsent
		}
		return nil, 0, fmt.Errorf("look for the kubelet: %w%s", err, hint(err))
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	answer, err := c.lister.List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return nil, 0, fmt.Errorf("ask the kubelet at %s who uses GPUs: %w%s", c.o.Socket, err, hint(err))
	}
	l := list{resources: c.o.Resources}
	for _, pod := range answer.GetPodResources() {
		for _, container := range pod.GetContainers() {
			l.container(pod, container)
		}
	}
	return l.grants, l.dropped, nil
}

// hint is what the user can do about an error, "" when there is nothing to say.
func hint(err error) string {
	switch {
	case status.Code(err) == codes.Unimplemented:
		return ": it needs Kubernetes 1.20 or newer"
	// The status of a failed connection keeps nothing but the text of its cause.
	case errors.Is(err, fs.ErrPermission), strings.Contains(err.Error(), "permission denied"):
		return ": only root may open the kubelet's socket"
	}
	return ""
}

// list collects grants.
type list struct {
	resources []string
	grants    []Grant
	dropped   int
}

func (l *list) container(pod *podresources.PodResources, c *podresources.ContainerResources) {
	base := Grant{Namespace: bound(pod.GetNamespace()), Pod: bound(pod.GetName()), Container: bound(c.GetName())}
	for _, devices := range c.GetDevices() {
		if !l.isGPU(devices.GetResourceName()) {
			continue
		}
		for _, id := range devices.GetDeviceIds() {
			g := base
			g.ID = bound(id)
			l.add(g)
		}
	}
	for _, dynamic := range c.GetDynamicResources() {
		for _, claim := range dynamic.GetClaimResources() {
			if claim.GetDriverName() != Driver {
				continue
			}
			g := base
			g.Claim = bound(dynamic.GetClaimNamespace()) + "/" + bound(dynamic.GetClaimName())
			g.Device, g.Share = bound(claim.GetDeviceName()), bound(claim.GetShareId())
			for _, cdi := range claim.GetCdiDevices() {
				g.CDI = append(g.CDI, bound(cdi.GetName()))
			}
			l.add(g)
		}
	}
}

func (l *list) add(g Grant) {
	if len(l.grants) >= maxGrants {
		l.dropped++
		return
	}
	l.grants = append(l.grants, g)
}

// isGPU reports whether devices of a resource are NVIDIA's GPUs or parts of them.
func (l *list) isGPU(resource string) bool {
	switch resource {
	case "nvidia.com/gpu", "nvidia.com/gpu.shared":
		return true
	}
	for _, more := range l.resources {
		if resource == more {
			return true
		}
	}
	return strings.HasPrefix(resource, "nvidia.com/mig-")
}

// bound keeps as much of a name as Kubernetes allows.
func bound(name string) string { return name[:min(len(name), maxName)] }
