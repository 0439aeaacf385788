package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxJWKS is the longest list of keys that CheckJWKS reads, in bytes.
const maxJWKS = 1 << 20

// CheckJWKS fetches the keys of fan tokens at url, and says why none are to be had.
func CheckJWKS(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the keys' address answered %d", res.StatusCode)
	}
	var list struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxJWKS)).Decode(&list); err != nil {
		return fmt.Errorf("read the list of keys: %w", err)
	}
	if len(list.Keys) == 0 {
		return errors.New("the list of keys is empty: no fan can come in")
	}
	return nil
}
