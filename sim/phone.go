package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"fanline/sim/providers"
)

// phones give fans of the story a device, a number and a mailbox, and tell what
// comes there.
type phones struct {
	s   *Story
	all *providers.All

	mu     sync.Mutex
	owners map[string]string // of addresses
	given  int
}

// phoneKinds are the devices of the fans, in turn.
var phoneKinds = []struct{ platform, name string }{
	{providers.ChannelAPNs, "iPhone"}, {providers.ChannelFCM, "Android"}, {providers.ChannelWebPush, "laptop"},
}

// give registers what a fan has. It is the same in every run, but for a laptop,
// whose browser subscribes anew.
func (p *phones) give(ctx context.Context, fan string) error {
	n := p.next()
	kind := phoneKinds[n%len(phoneKinds)]
	seed := sha256.Sum256([]byte("phone of " + fan))
	device := map[string]any{"platform": kind.platform, "token": hex.EncodeToString(seed[:])}
	if kind.platform == providers.ChannelWebPush {
		sub, err := p.all.WebPush.Subscribe(fan, "")
		if err != nil {
			return err
		}
		device["token"], device["keys"] = sub.Endpoint, map[string]string{"p256dh": sub.P256dh, "auth": sub.Auth}
	}
	// Numbers and names that nobody has.
	number, mailbox := fmt.Sprintf("+1201555%04d", 100+n%100), fan+"@fans.example"
	p.own(fan, device["token"].(string), number, mailbox)
	path := "/v1/fans/" + fan
	if _, err := p.s.app.Call(ctx, http.MethodPut, path, map[string]string{"phone": number, "email": mailbox}, nil); err != nil {
		return err
	}
	_, err := p.s.app.Call(ctx, http.MethodPut, path+"/devices/"+strings.ToLower(kind.name), device, nil)
	return err
}

func (p *phones) next() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.given++
	return p.given
}

func (p *phones) own(fan string, addresses ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range addresses {
		p.owners[a] = fan
	}
}

var phoneWords = map[string]string{
	providers.ChannelAPNs: "iPhone", providers.ChannelFCM: "Android", providers.ChannelWebPush: "laptop",
	providers.ChannelSMS: "SMS", providers.ChannelEmail: "mail",
}

// ring tells what came. It is called by the services, and only prints.
func (p *phones) ring(g providers.Got) {
	p.mu.Lock()
	fan := p.owners[g.Address]
	p.mu.Unlock()
	if fan == "" || !g.Accepted {
		return
	}
	show, seat := "", ""
	if parts := strings.Split(g.ItemID, ":"); len(parts) == 3 {
		show, seat = parts[1], seatName(parts[2])
	}
	title := g.Title
	if title == "" {
		title, _, _ = strings.Cut(g.Body, "\n")
	}
	p.s.tale.tell(show, seat, verbAlert, "%s, %s: %s", fan, phoneWords[g.Channel], title)
}

// mostPhones is how many fans of a show have a phone: those in front, who are told
// first.
const mostPhones = 40

// setPhones gives fans what they have, where there are phones.
func (s *Story) setPhones(ctx context.Context, fans []string) error {
	if s.phones == nil {
		return nil
	}
	for _, fan := range fans[:min(len(fans), mostPhones)] {
		if err := s.phones.give(ctx, fan); err != nil {
			return fmt.Errorf("give %s a phone: %w", fan, err)
		}
	}
	return nil
}
