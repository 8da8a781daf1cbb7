package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	sdkgrpc "github.com/grafana/grafana-plugin-sdk-go/backend/grpcplugin"
	"github.com/grafana/grafana-plugin-sdk-go/genproto/pluginv2"
	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
)

// grafanaVersion is the Grafana that the preview presents itself as, to the plugin and to the page's libraries.
const grafanaVersion = "12.4.2"

// checkEvery is how often a dead plugin is looked for, and so the longest it stays away; Grafana uses the same.
const checkEvery = time.Second

// errPluginDown is returned while the executable is being started again.
var errPluginDown = errors.New("the plugin's process is not running; it is started again within seconds, see the preview's log")

// manifest is what the preview reads of a plugin.json; the file as a whole goes to the browser.
type manifest struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Type       string `json:"type"`
	Executable string `json:"executable"`
	Info       struct {
		Version string `json:"version"`
	} `json:"info"`

	dir string
	raw json.RawMessage
}

func readManifest(dir string) (manifest, error) {
	path := filepath.Join(dir, "plugin.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		return manifest{}, fmt.Errorf("read %s: %w; build the plugin first (npm run build)", path, err)
	}
	m := manifest{dir: dir, raw: raw}
	if err := json.Unmarshal(raw, &m); err != nil {
		return manifest{}, fmt.Errorf("read %s: %w", path, err)
	}
	return m, nil
}

// readPanels finds the panels that are nested in the app, by id.
func readPanels(dist string) (map[string]manifest, error) {
	paths, err := filepath.Glob(filepath.Join(dist, "*", "plugin.json"))
	if err != nil {
		return nil, fmt.Errorf("look for panels in %s: %w", dist, err)
	}
	panels := map[string]manifest{}
	for _, path := range paths {
		m, err := readManifest(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		if m.Type == "panel" {
			panels[m.ID] = m
		}
	}
	return panels, nil
}

// executablePath is where Grafana looks for the plugin's backend.
func (m manifest) executablePath() string {
	name := m.Executable + "_" + runtime.GOOS + "_" + runtime.GOARCH
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(m.dir, name)
}

// clients are the services of one running plugin process.
type clients struct {
	process     *goplugin.Client
	data        pluginv2.DataClient
	resource    pluginv2.ResourceClient
	diagnostics pluginv2.DiagnosticsClient
	stream      pluginv2.StreamClient
}

// backendPlugin keeps the plugin's executable running. start it once; stop waits until the process is gone.
type backendPlugin struct {
	manifest manifest
	log      hclog.Logger

	mu      sync.RWMutex
	current *clients

	cancel context.CancelFunc
	done   chan struct{}
}

func newBackendPlugin(m manifest, log hclog.Logger) *backendPlugin {
	return &backendPlugin{manifest: m, log: log, done: make(chan struct{})}
}

// start launches the executable, fails if it cannot be launched the first time, and watches over it afterwards.
func (p *backendPlugin) start(ctx context.Context) error {
	c, err := p.launch()
	if err != nil {
		return err
	}
	p.set(c)
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go p.watch(ctx)
	return nil
}

func (p *backendPlugin) stop() {
	p.cancel()
	<-p.done
}

// get returns the running process' services, or errPluginDown.
func (p *backendPlugin) get() (*clients, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.current == nil || p.current.process.Exited() {
		return nil, errPluginDown
	}
	return p.current, nil
}

func (p *backendPlugin) set(c *clients) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current = c
}

// close ends the current process, if it still runs, and the connection to it.
func (p *backendPlugin) close() {
	p.mu.Lock()
	c := p.current
	p.current = nil
	p.mu.Unlock()
	if c != nil {
		c.process.Kill()
	}
}

// watch restarts the process when it has exited, until ctx ends; then it kills the process.
func (p *backendPlugin) watch(ctx context.Context) {
	defer close(p.done)
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			p.close()
			return
		case <-tick.C:
		}
		if _, err := p.get(); err == nil {
			continue
		}
		p.log.Warn("the plugin's process has exited; starting it again", "path", p.manifest.executablePath())
		p.close()
		c, err := p.launch()
		if err != nil {
			p.log.Error("the plugin could not be started again; trying once more in a second", "error", err)
			continue
		}
		p.set(c)
	}
}

// launch starts the executable and dispenses its services.
func (p *backendPlugin) launch() (*clients, error) {
	path := p.manifest.executablePath()
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("find the plugin's executable: %w; build it with `go tool mage build`", err)
	}
	cmd := exec.Command(path)
	cmd.Env = pluginEnvironment(p.manifest)
	process := goplugin.NewClient(&goplugin.ClientConfig{
		Cmd:         cmd,
		SkipHostEnv: true,
		HandshakeConfig: goplugin.HandshakeConfig{
			ProtocolVersion:  sdkgrpc.ProtocolVersion,
			MagicCookieKey:   sdkgrpc.MagicCookieKey,
			MagicCookieValue: sdkgrpc.MagicCookieValue,
		},
		VersionedPlugins: map[int]goplugin.PluginSet{sdkgrpc.ProtocolVersion: {
			"data":        &sdkgrpc.DataGRPCPlugin{},
			"resource":    &sdkgrpc.ResourceGRPCPlugin{},
			"diagnostics": &sdkgrpc.DiagnosticsGRPCPlugin{},
			"stream":      &sdkgrpc.StreamGRPCPlugin{},
		}},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		Logger:           p.log.Named("plugin"),
	})
	c, err := dispense(process)
	if err != nil {
		process.Kill()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return c, nil
}

func dispense(process *goplugin.Client) (*clients, error) {
	rpc, err := process.Client()
	if err != nil {
		return nil, err
	}
	c := &clients{process: process}
	if c.data, err = service[pluginv2.DataClient](rpc, "data"); err != nil {
		return nil, err
	}
	if c.resource, err = service[pluginv2.ResourceClient](rpc, "resource"); err != nil {
		return nil, err
	}
	if c.diagnostics, err = service[pluginv2.DiagnosticsClient](rpc, "diagnostics"); err != nil {
		return nil, err
	}
	if c.stream, err = service[pluginv2.StreamClient](rpc, "stream"); err != nil {
		return nil, err
	}
	return c, nil
}

func service[T any](rpc goplugin.ClientProtocol, name string) (T, error) {
	var none T
	raw, err := rpc.Dispense(name)
	if err != nil {
		return none, fmt.Errorf("dispense %s: %w", name, err)
	}
	typed, ok := raw.(T)
	if !ok {
		return none, fmt.Errorf("dispense %s: unexpected client %T", name, raw)
	}
	return typed, nil
}

// pluginEnvironment is what a plugin of Grafana may rely on: Grafana's own variables and the few of the host that
// temporary files, proxies and certificates need.
func pluginEnvironment(m manifest) []string {
	env := []string{"GF_VERSION=" + grafanaVersion, "GF_EDITION=OSS", "GF_PLUGIN_VERSION=" + m.Info.Version}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		switch strings.ToUpper(name) {
		case "HOME", "PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR":
			env = append(env, entry)
		}
	}
	return env
}
