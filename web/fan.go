package web

import (
	"context"

	"fanline/waitlist"
)

// Sockets ends the connections of fans.
type Sockets interface {
	// SignOut has every instance close the sockets that the fan has by now, also
	// one that cannot be reached at the moment.
	SignOut(ctx context.Context, fanNo int64) error
}

// SignOutRequest signs a fan out.
type SignOutRequest struct {
	Device *string `json:"device,omitempty" nullable:"true" maxLength:"64" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" example:"adas-phone" doc:"The device to forget; all of them without it."`
}

func (s *Server) fanCalls() {
	call(s, doc("Fans", "POST", "/v1/fans/{fan}/sign-out", "sign-out", "Close the fan's sockets and forget the device", 400, 413, 415), s.signOut)
	call(s, doc("Fans", "DELETE", "/v1/fans/{fan}", "erase-fan", "Forget a fan everywhere", 409), s.eraseFan)
}

type signOut struct {
	FanPath
	MaybeSent[SignOutRequest, SignOutRequest]
}

func (s *Server) signOut(ctx context.Context, in *signOut) (*Nothing, error) {
	device := "" // all of them
	if sent := in.Body.value.Device; sent != nil {
		device = *sent
		if err := waitlist.CheckID("device", device); err != nil {
			return nil, err
		}
	}
	no, err := s.cfg.Lines.FindFan(ctx, in.Fan)
	if err != nil || no == 0 {
		return nil, err
	}
	if err := s.cfg.Recipients.ForgetDevice(ctx, in.Fan, device); err != nil {
		return nil, err
	}
	return nil, s.closeSockets(ctx, no)
}

func (s *Server) closeSockets(ctx context.Context, fanNo int64) error {
	if s.cfg.Sockets == nil {
		return nil
	}
	return s.cfg.Sockets.SignOut(ctx, fanNo)
}

// eraseFan closes the sockets before, since afterwards nobody knows whose they
// were, and again after, for those that were opened meanwhile.
func (s *Server) eraseFan(ctx context.Context, in *FanPath) (*Nothing, error) {
	no, err := s.cfg.Lines.FindFan(ctx, in.Fan)
	if err != nil || no == 0 {
		return nil, err
	}
	if err := s.closeSockets(ctx, no); err != nil {
		return nil, err
	}
	if err := s.cfg.Lines.EraseFan(ctx, in.Fan); err != nil {
		return nil, err
	}
	return nil, s.closeSockets(ctx, no)
}
