package main

import "context"

// sockets ends the connections of fans on every instance.
type sockets struct{ a *app }

// SignOut records that the fan was signed out, which every instance finds by
// itself, and wakes those that can be woken.
func (x sockets) SignOut(ctx context.Context, fanNo int64) error {
	if err := x.a.store.SignOut(ctx, fanNo); err != nil {
		return err
	}
	x.a.fanout.Changed(fanNo)
	return nil
}

// acts is what a connected fan can do.
type acts struct{ a *app }

// Connected wakes a dormant fan.
func (x acts) Connected(ctx context.Context, fan string) error { return x.a.lines.Wake(ctx, fan) }

// Ack ends the telling of items by other channels, and is an act.
func (x acts) Ack(ctx context.Context, fan string, ids []string) error {
	if err := x.a.store.Ack(ctx, fan, ids); err != nil {
		return err
	}
	return x.a.lines.Wake(ctx, fan)
}

// Read marks items read, and is an act.
func (x acts) Read(ctx context.Context, fan string, ids []string) error {
	if _, err := x.a.store.MarkRead(ctx, fan, ids); err != nil {
		return err
	}
	return x.a.lines.Wake(ctx, fan)
}
