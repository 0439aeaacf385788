package sim

import "context"

// App is the ticketing app. Its calls stand beside what they are about: show.go,
// entry.go, import.go, opening.go, claim.go.
type App struct {
	c *client
}

// NewApp calls the instances at baseURLs in turn, with an API key.
func NewApp(baseURLs []string, apiKey string, opts ...Option) *App {
	return &App{c: newClient(baseURLs, apiKey, opts)}
}

// At is the same app that calls the i-th instance alone. Close the first one.
func (a *App) At(i int) *App { return &App{c: a.c.at(i)} }

// BaseURLs are the instances called.
func (a *App) BaseURLs() []string { return a.c.bases }

// Close drops the idle connections. The app can still be used.
func (a *App) Close() { a.c.close() }

// Call makes any other call of the API: in goes as JSON unless nil, the answer is
// read into out unless nil. It returns the HTTP status; a refusal is a *Problem.
func (a *App) Call(ctx context.Context, method, path string, in, out any) (int, error) {
	return a.c.call(ctx, method, path, in, out)
}
