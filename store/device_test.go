package store_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"fanline/delivery"
	"fanline/notifier"
	"fanline/waitlist"
)

// register registers a device of APNs for a fan.
func (b *bench) register(fan, device, token string) delivery.Device {
	b.t.Helper()
	d, _, err := b.store.PutDevice(b.t.Context(), fan, device, func(d *delivery.Device) error {
		d.Platform, d.Token, d.Environment = notifier.APNs, token, delivery.Production
		return nil
	})
	must(b.t, err)
	return d
}

// devices are the ids of a fan's devices, the last registered first.
func (b *bench) devices(fan string) []string {
	b.t.Helper()
	list, err := b.store.Devices(b.t.Context(), fan)
	must(b.t, err)
	var ids []string
	for _, d := range list {
		ids = append(ids, d.ID)
	}
	return ids
}

func (b *bench) wantDevices(fan string, want ...string) {
	b.t.Helper()
	if got := b.devices(fan); !slices.Equal(got, want) {
		b.t.Errorf("devices of %s: %v, want %v", fan, got, want)
	}
}

func (b *bench) fanNo(fan string) int64 {
	b.t.Helper()
	no, err := b.store.FanNo(b.t.Context(), fan)
	must(b.t, err)
	return no
}

// retirements are the reasons of a fan's device.retired events.
func (b *bench) retirements(fan string) []string {
	b.t.Helper()
	return b.strings(`SELECT data->>'device' || ': ' || (data->>'reason') FROM events WHERE type = 'device.retired' AND fan_no = $1 ORDER BY id`, b.fanNo(fan))
}

func TestATokenBelongsToTheLastWhoRegistersIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("ada", "phone", "token-1")
	b.register("ada", "tablet", "token-2")
	b.register("ben", "phone", "token-1")
	b.wantDevices("ada", "tablet")
	b.wantDevices("ben", "phone")
	_, err := b.store.Device(t.Context(), "ada", "phone")
	refused(t, "a moved device", err, waitlist.NotFound)
	if got, want := b.retirements("ada"), []string{"phone: registered elsewhere"}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	// The same installation under another id is one device.
	b.register("ben", "phone-after-reinstall", "token-1")
	b.wantDevices("ben", "phone-after-reinstall")
}

func TestOfManyWhoRegisterATokenAtOnceExactlyOneOwnsIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := benchOn(t, b.store.Pool().Config().ConnString())
	var wg sync.WaitGroup
	for i := range 100 {
		from := []*bench{b, other}[i%2]
		wg.Go(func() {
			_, _, err := from.store.PutDevice(t.Context(), fmt.Sprint("fan-", i%2), fmt.Sprint("phone-", i%5), func(d *delivery.Device) error {
				d.Platform, d.Token = notifier.FCM, "the-token"
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if owners := append(b.devices("fan-0"), b.devices("fan-1")...); len(owners) != 1 {
		t.Errorf("owned by %v", owners)
	}
}

func TestFansWhoSwapTheirPhonesAtOnceEachEndWithAtMostOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() { b.register("ada", "phone", fmt.Sprint("token-", i%2)) })
		wg.Go(func() { b.register("ben", "phone", fmt.Sprint("token-", (i+1)%2)) })
	}
	wg.Wait()
	if n := len(b.devices("ada")) + len(b.devices("ben")); n < 1 || n > 2 {
		t.Errorf("%d devices are left of two tokens", n)
	}
}

func TestADeviceRegisteredAgainIsUsedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d := b.register("ada", "phone", "token")
	must(t, b.store.UnuseDevice(t.Context(), b.fanNo("ada"), d.Address(), "400 BadDeviceToken"))
	kept, err := b.store.Device(t.Context(), "ada", "phone")
	must(t, err)
	if kept.Used || len(b.recipient("ada", notifier.APNs).Addresses) != 0 {
		t.Error("the device is used still")
	}
	again := b.register("ada", "phone", "token")
	if !again.Used || !again.RegisteredAt.After(d.RegisteredAt) {
		t.Errorf("registered again: used %v, at %v after %v", again.Used, again.RegisteredAt, d.RegisteredAt)
	}
	if len(b.recipient("ada", notifier.APNs).Addresses) != 1 {
		t.Error("the device is not used")
	}
	// A late verdict about what was sent before says nothing about it.
	must(t, b.store.UnuseDevice(t.Context(), b.fanNo("ada"), d.Address(), "400 BadDeviceToken"))
	if len(b.recipient("ada", notifier.APNs).Addresses) != 1 {
		t.Error("a late verdict put it out of use")
	}
}

func TestAFanHasTwentyDevicesAndTheOldestGoes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range delivery.MaxDevices + 2 {
		b.register("ada", fmt.Sprint("phone-", i), fmt.Sprint("token-", i))
	}
	ids := b.devices("ada")
	if len(ids) != delivery.MaxDevices || slices.Contains(ids, "phone-0") || slices.Contains(ids, "phone-1") {
		t.Errorf("devices %v", ids)
	}
	if got := b.retirements("ada"); len(got) != 2 {
		t.Errorf("events %v", got)
	}
}

// A token is retired by its provider's verdict about it alone: if it was registered
// before the provider knew, and has the same owner.
func TestOnlyAVerdictNewerThanTheRegistrationRetires(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		since   time.Duration // after the registration
		between func(b *bench)
		retired bool
	}{
		"dead before it was registered":  {-time.Minute, nil, false},
		"dead at that very moment":       {0, nil, false},
		"dead later":                     {time.Minute, nil, true},
		"registered again meanwhile":     {time.Minute, func(b *bench) { b.register("ada", "phone", "token") }, false},
		"another owner":                  {time.Minute, func(b *bench) { b.register("ben", "phone", "token") }, false},
		"another owner, and back again":  {time.Minute, func(b *bench) { b.register("ben", "phone", "token"); b.register("ada", "phone", "token") }, false},
		"another token of the device":    {time.Minute, func(b *bench) { b.register("ada", "phone", "new") }, false},
		"the environment was found out":  {time.Minute, func(b *bench) { b.moveDevice("ada", "token") }, true},
		"another device of the same fan": {time.Minute, func(b *bench) { b.register("ada", "tablet", "other") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			d := b.register("ada", "phone", "token")
			if c.between != nil {
				c.between(b)
			}
			before := len(b.retirements("ada"))
			done, err := b.store.RetireAddress(t.Context(), b.fanNo("ada"), d.Address(), d.RegisteredAt.Add(c.since), "410 Unregistered")
			must(t, err)
			if done != c.retired {
				t.Errorf("retired %v, want %v", done, c.retired)
			}
			if got := len(b.retirements("ada")) - before; got != map[bool]int{true: 1}[c.retired] {
				t.Errorf("%d events", got)
			}
			if c.retired {
				_, err := b.store.Device(t.Context(), "ada", "phone")
				refused(t, "a retired device", err, waitlist.NotFound)
			}
			if n := len(b.strings(`SELECT data::text FROM events WHERE data::text LIKE '%token%'`)); n > 0 {
				t.Error("an event holds the token")
			}
		})
	}
}

func (b *bench) moveDevice(fan, token string) {
	b.t.Helper()
	must(b.t, b.store.MoveDevice(b.t.Context(), b.fanNo(fan), delivery.Address{Channel: notifier.APNs, To: token}, delivery.Sandbox))
	if a := b.recipient(fan, notifier.APNs).Addresses; len(a) != 1 || a[0].Environment != delivery.Sandbox {
		b.t.Errorf("moved: %v", a)
	}
}

func TestForgettingADeviceTwiceIsNoError(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.register("ada", "phone", "token-1")
	b.register("ada", "tablet", "token-2")
	b.register("ben", "phone", "token-3")
	for range 2 {
		must(t, b.store.ForgetDevice(t.Context(), "ada", "phone"))
		b.wantDevices("ada", "tablet")
	}
	must(t, b.store.ForgetDevice(t.Context(), "nobody", ""))
	must(t, b.store.ForgetDevice(t.Context(), "ada", ""))
	b.wantDevices("ada")
	b.wantDevices("ben", "phone")
}

func TestADeviceRegisteredWhileItsFanIsErasedLeadsToNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 10 {
		b.register("ada", "phone", "token-0")
		was := b.fanNo("ada")
		var wg sync.WaitGroup
		wg.Go(func() { b.register("ada", "tablet", fmt.Sprint("token-", i)) })
		wg.Go(func() {
			if err := b.EraseFan(t.Context(), "ada"); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if n := b.strings(`SELECT count(*)::text FROM devices WHERE fan_no = $1 AND NOT EXISTS (SELECT FROM fans WHERE fan_no = $1)`, was); n[0] != "0" {
			t.Fatalf("%s devices are left of an erased fan", n[0])
		}
		must(t, b.EraseFan(t.Context(), "ada"))
	}
}
