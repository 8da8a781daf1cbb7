package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/centrifugal/centrifuge"
	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/genproto/pluginv2"
	"github.com/hashicorp/go-hclog"
)

// Limits of Grafana Live that a plugin has to live with.
const (
	liveQueueBytes   = 4 << 20
	maxChannelLength = 160
	subscribeTimeout = 10 * time.Second
)

var channelPathPattern = regexp.MustCompile(`^[A-Za-z0-9_\-/=.]+$`)

// contextOf finds a data source's plugin context by its uid.
type contextOf func(uid string) (backend.PluginContext, error)

// live is the preview's Grafana Live: a centrifuge node that browsers reach by WebSocket, and one RunStream of the plugin for
// every channel that has subscribers.
type live struct {
	plugin  *backendPlugin
	context contextOf
	log     hclog.Logger
	node    *centrifuge.Node
	streams *streams

	ctx     context.Context
	cancel  context.CancelFunc
	pending sync.WaitGroup
}

func newLive(plugin *backendPlugin, find contextOf, log hclog.Logger, times streamTimes) (*live, error) {
	node, err := centrifuge.New(centrifuge.Config{
		Name:               "preview",
		LogLevel:           centrifuge.LogLevelInfo,
		ClientQueueMaxSize: liveQueueBytes,
		LogHandler: func(e centrifuge.LogEntry) {
			switch {
			case e.Level >= centrifuge.LogLevelError:
				log.Error(e.Message, "fields", e.Fields, "error", e.Error)
			case e.Level >= centrifuge.LogLevelWarn:
				log.Warn(e.Message, "fields", e.Fields)
			default:
				log.Debug(e.Message, "fields", e.Fields)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make the Live server: %w", err)
	}
	l := &live{plugin: plugin, context: find, log: log, node: node}
	l.streams = newStreams(streamsConfig{
		run:         l.runStream,
		publish:     l.publish,
		subscribers: node.Hub().NumSubscribers,
		times:       times,
		log:         log,
	})
	node.OnConnecting(func(context.Context, centrifuge.ConnectEvent) (centrifuge.ConnectReply, error) {
		return centrifuge.ConnectReply{Credentials: &centrifuge.Credentials{UserID: "1"}}, nil
	})
	node.OnConnect(func(client *centrifuge.Client) {
		client.OnSubscribe(l.onSubscribe)
	})
	return l, nil
}

func (l *live) start(ctx context.Context) error {
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := l.node.Run(); err != nil {
		return fmt.Errorf("start the Live server: %w", err)
	}
	return nil
}

// stop ends all streams, disconnects the browsers and waits for both.
func (l *live) stop() {
	l.cancel()
	l.pending.Wait()
	l.streams.stop()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := l.node.Shutdown(ctx); err != nil {
		l.log.Warn("stop the Live server", "error", err)
	}
}

// handler is the WebSocket that speaks centrifuge's JSON protocol, at Grafana's address for it.
func (l *live) handler() http.Handler {
	return centrifuge.NewWebsocketHandler(l.node, centrifuge.WebsocketConfig{MessageSizeLimit: 8 << 20})
}

// onSubscribe asks the plugin and answers from a goroutine of its own, because centrifuge calls it while reading the browser's
// next command.
func (l *live) onSubscribe(event centrifuge.SubscribeEvent, reply centrifuge.SubscribeCallback) {
	l.pending.Add(1)
	go func() {
		defer l.pending.Done()
		data, err := l.subscribe(event)
		if err != nil {
			l.log.Warn("a browser could not subscribe", "channel", event.Channel, "error", err)
			reply(centrifuge.SubscribeReply{}, centrifugeError(err))
			return
		}
		reply(centrifuge.SubscribeReply{Options: centrifuge.SubscribeOptions{Data: data}}, nil)
	}()
}

// subscribe asks the plugin whether the browser may listen, and makes sure that the channel's stream runs. It returns the
// plugin's initial data.
func (l *live) subscribe(event centrifuge.SubscribeEvent) (json.RawMessage, error) {
	channel, err := parseChannel(event.Channel)
	if err != nil {
		return nil, err
	}
	pluginContext, err := l.context(channel.uid)
	if err != nil {
		return nil, refusedError{status: pluginv2.SubscribeStreamResponse_NOT_FOUND, why: err.Error()}
	}
	services, err := l.plugin.get()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(l.ctx, subscribeTimeout)
	defer cancel()
	response, err := services.stream.SubscribeStream(ctx, &pluginv2.SubscribeStreamRequest{
		PluginContext: backend.ToProto().PluginContext(pluginContext),
		Path:          channel.path,
		Data:          event.Data,
	})
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", event.Channel, err)
	}
	if response.GetStatus() != pluginv2.SubscribeStreamResponse_OK {
		return nil, refusedError{status: response.GetStatus(), why: "the plugin refused it"}
	}
	l.streams.ensure(l.ctx, streamKey{channel: event.Channel, address: channel}, event.Data)
	return response.GetData(), nil
}

// runStream is one RunStream of the plugin: it hands on packets until ctx ends or the stream does.
func (l *live) runStream(ctx context.Context, address channelAddress, data []byte, send func([]byte) error) error {
	pluginContext, err := l.context(address.uid)
	if err != nil {
		return err
	}
	services, err := l.plugin.get()
	if err != nil {
		return err
	}
	stream, err := services.stream.RunStream(ctx, &pluginv2.RunStreamRequest{
		PluginContext: backend.ToProto().PluginContext(pluginContext),
		Path:          address.path,
		Data:          data,
	})
	if err != nil {
		return err
	}
	for {
		packet, err := stream.Recv()
		if err != nil {
			return err
		}
		if err := send(packet.GetData()); err != nil {
			return err
		}
	}
}

func (l *live) publish(channel string, data []byte) error {
	if _, err := l.node.Publish(channel, data); err != nil {
		return fmt.Errorf("publish to %s: %w", channel, err)
	}
	return nil
}

// channelAddress is a data source's channel.
type channelAddress struct {
	uid  string
	path string
}

// parseChannel reads "ds/<uid>/<path>", with or without Grafana's organisation number in front.
func parseChannel(channel string) (channelAddress, error) {
	bad := func(why string) (channelAddress, error) {
		return channelAddress{}, refusedError{status: pluginv2.SubscribeStreamResponse_NOT_FOUND, why: why}
	}
	if len(channel) > maxChannelLength {
		return bad(fmt.Sprintf("a channel has at most %d characters", maxChannelLength))
	}
	parts := strings.SplitN(strings.TrimPrefix(channel, "1/"), "/", 3)
	if len(parts) != 3 || parts[0] != "ds" || parts[1] == "" || !channelPathPattern.MatchString(parts[2]) {
		return bad("the preview serves the channels ds/<uid>/<path> only")
	}
	return channelAddress{uid: parts[1], path: parts[2]}, nil
}

// refusedError is an answer of the plugin, or of the preview, that is no failure.
type refusedError struct {
	status pluginv2.SubscribeStreamResponse_Status
	why    string
}

func (e refusedError) Error() string {
	return fmt.Sprintf("subscription refused (%s): %s", e.status, e.why)
}

// centrifugeError gives refusals the HTTP numbers that Grafana uses, and everything else a number that makes browsers try again.
func centrifugeError(err error) error {
	var refused refusedError
	switch {
	case !errors.As(err, &refused):
		return centrifuge.ErrorInternal
	case refused.status == pluginv2.SubscribeStreamResponse_PERMISSION_DENIED:
		return &centrifuge.Error{Code: http.StatusForbidden, Message: "Forbidden"}
	default:
		return &centrifuge.Error{Code: http.StatusNotFound, Message: "Not Found"}
	}
}
