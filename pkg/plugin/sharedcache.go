package plugin

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/grafana/gomemcache/memcache"
	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/redis/rueidis"

	"github.com/warpwatch/warpwatch/pkg/history"
	"github.com/warpwatch/warpwatch/pkg/settings"
)

// Bounds of what is on its way to a shared cache. What is beyond is not stored.
const (
	sharedAtOnce = 8
	sharedItem   = 1 << 20
)

// sharedCache is the cache that several Grafana servers share, nil when there is none, and what ends it. metrics may be nil.
func sharedCache(c settings.RemoteCache, metrics *history.CacheMetrics) (remote history.Remote, stop func()) {
	connect := map[string]func() (store, error){
		"memcached": func() (store, error) { return newMemcached(c) },
		"redis":     func() (store, error) { return newRedis(c) },
	}[c.Type]
	if connect == nil {
		return nil, func() {}
	}
	s := &sharedStore{connect: connect, timeout: c.Timeout, slots: make(chan struct{}, sharedAtOnce), count: metrics.CountRemote}
	return s, s.close
}

// cacheNamespace tells a data source with its settings and credentials apart from every other that uses a shared cache.
func cacheNamespace(stored backend.DataSourceInstanceSettings) string {
	hash := sha256.New()
	fmt.Fprintf(hash, "%q%q%q", stored.UID, stored.URL, stored.JSONData)
	// Whom a server knows us as may be said by Grafana's own keys, too, and a user by name only.
	fmt.Fprintf(hash, "%q%q%q%t", stored.User, stored.Database, stored.BasicAuthUser, stored.BasicAuthEnabled)
	for _, name := range slices.Sorted(maps.Keys(stored.DecryptedSecureJSONData)) {
		fmt.Fprintf(hash, "%q%q", name, stored.DecryptedSecureJSONData[name])
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// store is a connection to a cache. What fails is not there; the error says that the cache, not a key, is the reason.
type store interface {
	get(ctx context.Context, keys []string) (map[string][]byte, error)
	set(ctx context.Context, key string, value []byte, ttl time.Duration) error
	close()
}

type redisStore struct{ client rueidis.Client }

func newRedis(c settings.RemoteCache) (store, error) {
	option := rueidis.ClientOption{
		InitAddress: c.Addresses, Username: c.User, Password: c.Password.Reveal(), SelectDB: c.Database, Dialer: net.Dialer{Timeout: c.Timeout},
		ConnWriteTimeout: c.Timeout, DisableCache: true, DisableRetry: true, AlwaysRESP2: true, ForceSingleClient: len(c.Addresses) == 1,
		ClientSetInfo: rueidis.DisableClientSetInfo, ClientName: "warpwatch",
	}
	if c.TLS {
		option.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	client, err := rueidis.NewClient(option)
	return redisStore{client}, err
}

func (r redisStore) get(ctx context.Context, keys []string) (map[string][]byte, error) {
	messages, err := rueidis.MGet(r.client, ctx, keys)
	if err != nil {
		return nil, err
	}
	values := make(map[string][]byte, len(messages))
	for key, message := range messages {
		if value, err := message.AsBytes(); err == nil {
			values[key] = value
		}
	}
	return values, nil
}

func (r redisStore) set(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return r.client.Do(ctx, r.client.B().Set().Key(key).Value(rueidis.BinaryString(value)).Px(ttl).Build()).Error()
}

func (r redisStore) close() { r.client.Close() }

// memcachedStore does not use dskit's client, which never ends the goroutine that reads resolv.conf.
type memcachedStore struct{ client *memcache.Client }

func newMemcached(c settings.RemoteCache) (store, error) {
	servers := &memcache.ServerList{}
	if err := servers.SetServers(c.Addresses...); err != nil {
		return nil, err
	}
	client := memcache.NewFromSelector(servers)
	client.Timeout, client.ConnectTimeout, client.MaxIdleConns = c.Timeout, c.Timeout, sharedAtOnce
	if c.TLS {
		client.DialTimeout = func(network, address string, timeout time.Duration) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			defer cancel()
			return (&tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS12}}).DialContext(ctx, network, address)
		}
	}
	return memcachedStore{client}, nil
}

func (m memcachedStore) get(ctx context.Context, keys []string) (map[string][]byte, error) {
	items, err := m.client.GetMulti(ctx, keys)
	if err != nil {
		return nil, err
	}
	values := make(map[string][]byte, len(items))
	for key, item := range items {
		values[key] = item.Value
	}
	return values, nil
}

func (m memcachedStore) set(_ context.Context, key string, value []byte, ttl time.Duration) error {
	// Beyond 30 days memcached takes a number for a date.
	seconds := min(max(int32(min(ttl, 30*24*time.Hour)/time.Second), 1), 30*24*60*60)
	return m.client.Set(&memcache.Item{Key: key, Value: value, Expiration: seconds})
}

func (m memcachedStore) close() { m.client.Close() }

// sharedStore is a shared cache. It connects when it is first used, and a cache that cannot be reached is an empty one:
// then answers come from the servers. One that fails again and again is left alone for a while.
type sharedStore struct {
	connect func() (store, error)
	timeout time.Duration
	slots   chan struct{}       // of values on their way
	count   func(result string) // what became of a request that the cache did not answer
	breaker breaker

	connecting sync.Mutex // held while a connection is made

	mu      sync.Mutex
	store   store // nil until it is connected
	closed  bool
	sending sync.WaitGroup
}

var _ history.Remote = (*sharedStore)(nil)

// connected is the store, nil when there is none now: while one caller connects the others go on without. The error is that
// it cannot be reached.
func (s *sharedStore) connected() (store, error) {
	s.mu.Lock()
	known, closed := s.store, s.closed
	s.mu.Unlock()
	if known != nil || closed || !s.connecting.TryLock() {
		return known, nil
	}
	defer s.connecting.Unlock()
	fresh, err := s.connect()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case s.closed || s.store != nil:
		fresh.close()
		return s.store, nil
	}
	s.store = fresh
	return fresh, nil
}

// ask does something with the cache, unless it is left alone.
func (s *sharedStore) ask(ctx context.Context, do func(context.Context, store) error) {
	if !s.breaker.enter() {
		s.count("skipped")
		return
	}
	how := gaveUp
	defer func() { s.breaker.leave(how) }()
	connected, err := s.connected()
	if connected != nil {
		limited, cancel := context.WithTimeout(ctx, s.timeout)
		defer cancel()
		err = do(limited, connected)
	}
	switch {
	case err == nil && connected != nil:
		how = worked
	case err != nil && !errors.Is(ctx.Err(), context.Canceled):
		how = failed
		s.count("failed")
	}
}

// GetMulti implements history.Remote.
func (s *sharedStore) GetMulti(ctx context.Context, keys []string) (values map[string][]byte) {
	if len(keys) == 0 {
		return nil
	}
	s.ask(ctx, func(ctx context.Context, from store) (err error) {
		values, err = from.get(ctx, keys)
		return err
	})
	return values
}

// SetAsync implements history.Remote.
func (s *sharedStore) SetAsync(key string, value []byte, ttl time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || ttl < time.Millisecond || len(value) > sharedItem {
		return
	}
	select {
	case s.slots <- struct{}{}:
	default:
		return
	}
	s.sending.Go(func() {
		defer func() { <-s.slots }()
		s.ask(context.Background(), func(ctx context.Context, to store) error { return to.set(ctx, key, value, ttl) })
	})
}

// withCacheNotice adds to an answer that the shared cache is left alone, once each time that it begins to be.
func (d *Datasource) withCacheNotice(all data.Frames) data.Frames {
	if d.shared == nil || len(all) == 0 || all[0] == nil {
		return all
	}
	for _, n := range d.shown(d.shared.breaker.notice()) {
		all[0].AppendNotices(data.Notice{Severity: data.NoticeSeverityWarning, Text: n.Text})
	}
	return all
}

func (s *sharedStore) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.sending.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil {
		s.store.close()
		s.store = nil
	}
}
