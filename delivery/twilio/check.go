package twilio

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"fanline/delivery/call"
)

// Check looks at the account's newest message: that it may.
func (p *Provider) Check(ctx context.Context) error {
	req, err := p.request(ctx, http.MethodGet, p.messages+"?PageSize=1", strings.NewReader(""))
	if err != nil {
		return err
	}
	res, err := call.DoLong(p.client, req)
	if err != nil {
		return errors.New(call.Reason(err))
	}
	switch res.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return errors.New("the account or its token is not accepted: " + call.Words(res.Status, ""))
	}
	return nil
}
