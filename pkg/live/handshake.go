package live

import (
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6455 wants it, for no secret
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// handshake asks for a WebSocket (RFC 6455) at a URL of scheme http or https. The response is the answer, also when
// there is an error; its body is closed then.
func handshake(ctx context.Context, client *http.Client, address string, header http.Header) (io.ReadWriteCloser, *http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("ask for the stream: %w", err)
	}
	if header != nil {
		request.Header = header.Clone()
	}
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // it never fails
	key := base64.StdEncoding.EncodeToString(nonce[:])
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "websocket")
	request.Header.Set("Sec-WebSocket-Version", "13")
	request.Header.Set("Sec-WebSocket-Key", key)
	response, err := client.Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("ask for the stream: %w", err)
	}
	if err := accepted(response, key); err != nil {
		_ = response.Body.Close() // nothing of it is read
		return nil, response, err
	}
	conn, ok := response.Body.(io.ReadWriteCloser)
	if !ok { // not reached: an http.Transport's is
		_ = response.Body.Close()
		return nil, response, errors.New("the connection cannot be written to")
	}
	return conn, response, nil
}

// accepted says whether the answer is a WebSocket.
func accepted(response *http.Response, key string) error {
	hash := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // as above
	switch h := response.Header; {
	case response.StatusCode != http.StatusSwitchingProtocols:
		return fmt.Errorf("the answer is %s and no WebSocket", response.Status)
	case !hasToken(h["Connection"], "upgrade") || !hasToken(h["Upgrade"], "websocket"):
		return errors.New("the answer switches to another protocol than WebSocket")
	case h.Get("Sec-WebSocket-Accept") != base64.StdEncoding.EncodeToString(hash[:]):
		return errors.New("the answer is to another WebSocket's key")
	case h.Get("Sec-WebSocket-Extensions") != "" || h.Get("Sec-WebSocket-Protocol") != "":
		return errors.New("the answer has WebSocket extensions that nobody asked for")
	}
	return nil
}

// hasToken reports whether a header's values, lists with commas, have a word.
func hasToken(values []string, word string) bool {
	for _, v := range values {
		for token := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(token), word) {
				return true
			}
		}
	}
	return false
}
