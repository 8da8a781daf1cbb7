package supervise

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// HTTP is a Ready that wants a 2xx answer from a URL.
func HTTP(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, 512))
		if err != nil {
			return fmt.Errorf("read %s: %w", url, err)
		}
		if resp.StatusCode/100 != 2 {
			return fmt.Errorf("%s answered %s: %s", url, resp.Status, strings.TrimSpace(string(body)))
		}
		return nil
	}
}
