package providers

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/textproto"
	"strings"
	"time"
)

// mailTalk is one connection.
type mailTalk struct {
	server    *SMTP
	conn      net.Conn
	text      *textproto.Conn
	encrypted bool
	loggedIn  bool
	from      string
	to        string
	answer    Answer // what the script says of this message
}

func (t *mailTalk) say(code int, line string) bool {
	return t.text.PrintfLine("%d %s", code, line) == nil
}

func (t *mailTalk) run() {
	if !t.say(220, "fake ESMTP") {
		return
	}
	for {
		_ = t.conn.SetDeadline(time.Now().Add(mailIdle))
		line, err := t.text.ReadLine()
		if err != nil || len(line) > 1000 {
			return
		}
		verb, rest, _ := strings.Cut(line, " ")
		if !t.command(strings.ToUpper(verb), rest) {
			return
		}
	}
}

// command answers one; false ends the connection.
func (t *mailTalk) command(verb, rest string) bool {
	switch verb {
	case "EHLO":
		return t.hello()
	case "HELO", "NOOP":
		return t.say(250, "2.0.0 ok")
	case "RSET":
		t.from, t.to = "", ""
		return t.say(250, "2.0.0 ok")
	case "STARTTLS":
		return t.startTLS()
	case "AUTH":
		return t.auth(rest)
	case "MAIL":
		return t.mail(rest)
	case "RCPT":
		return t.rcpt(rest)
	case "DATA":
		return t.data()
	case "QUIT":
		t.say(221, "2.0.0 bye")
		return false
	}
	return t.say(502, "5.5.2 unknown command")
}

func (t *mailTalk) hello() bool {
	lines := []string{"fake", "ENHANCEDSTATUSCODES", "8BITMIME", "SIZE 10485760"}
	if t.server.tls != nil && !t.encrypted {
		lines = append(lines, "STARTTLS")
	}
	if t.server.cfg.User != "" {
		lines = append(lines, "AUTH PLAIN")
	}
	for i, line := range lines {
		sep := "-"
		if i == len(lines)-1 {
			sep = " "
		}
		if t.text.PrintfLine("250%s%s", sep, line) != nil {
			return false
		}
	}
	return true
}

func (t *mailTalk) startTLS() bool {
	if t.server.tls == nil || t.encrypted {
		return t.say(454, "4.7.0 not now")
	}
	if !t.say(220, "2.0.0 go ahead") {
		return false
	}
	c := tls.Server(t.conn, t.server.tls)
	if c.HandshakeContext(t.server.ctx) != nil {
		return false
	}
	t.conn, t.text, t.encrypted = c, textproto.NewConn(c), true
	return true
}

func (t *mailTalk) auth(rest string) bool {
	mechanism, initial, _ := strings.Cut(rest, " ")
	if !strings.EqualFold(mechanism, "PLAIN") {
		return t.say(504, "5.5.4 unknown mechanism")
	}
	given, err := base64.StdEncoding.DecodeString(initial)
	parts := bytes.Split(given, []byte{0})
	if err != nil || len(parts) != 3 || string(parts[1]) != t.server.cfg.User || string(parts[2]) != t.server.cfg.Password {
		return t.say(535, "5.7.8 wrong name or password")
	}
	t.loggedIn = true
	return t.say(235, "2.7.0 welcome")
}

// path is the address in "FROM:<a@b> BODY=8BITMIME".
func path(rest, word string) (string, bool) {
	rest, ok := strings.CutPrefix(rest, word+":<")
	address, _, end := strings.Cut(rest, ">")
	return address, ok && end
}

func (t *mailTalk) mail(rest string) bool {
	from, ok := path(rest, "FROM")
	switch a := t.server.Senders.answer(from); {
	case !ok:
		return t.say(501, "5.5.4 syntax")
	case t.server.cfg.User != "" && !t.loggedIn:
		return t.say(530, "5.7.0 log in first")
	case a.Status != 0:
		return a.think(t.server.ctx) && t.say(a.Status, a.Reason)
	}
	t.from, t.to = from, ""
	return t.say(250, "2.1.0 ok")
}

func (t *mailTalk) rcpt(rest string) bool {
	to, ok := path(rest, "TO")
	if !ok || t.from == "" {
		return t.say(503, "5.5.1 not now")
	}
	s := t.server
	t.answer = s.answer(to)
	if a := t.answer; a.Status != 0 && !a.Accept && !a.Late {
		s.refuse(Got{Channel: ChannelEmail, Address: to}, a)
		return a.think(s.ctx) && t.say(a.Status, a.Reason)
	}
	t.to = to
	return t.say(250, "2.1.5 ok")
}

func (t *mailTalk) data() bool {
	if t.to == "" {
		return t.say(503, "5.5.1 no recipient")
	}
	if !t.say(354, "go on") {
		return false
	}
	message, err := io.ReadAll(io.LimitReader(t.text.DotReader(), 1<<20))
	if err != nil {
		return false
	}
	s, a := t.server, t.answer
	g := Got{Channel: ChannelEmail, Address: t.to, Payload: message, At: s.now(), Accepted: a.takes(), Answer: a.words(250)}
	s.readMail(&g, message)
	t.from, t.to = "", ""
	s.phones.note(g)
	if !a.think(s.ctx) {
		return false
	}
	if a.Status == 0 {
		return t.say(250, "2.0.0 queued as "+g.ID)
	}
	return t.say(a.Status, a.Reason)
}

func (s *SMTP) readMail(g *Got, message []byte) {
	m, err := mail.ReadMessage(bufio.NewReader(bytes.NewReader(message)))
	if err != nil {
		return
	}
	g.Key = strings.Trim(m.Header.Get("Message-Id"), "<>")
	g.ID = g.Key
	if s.phones.counting() {
		g.Payload = nil
		return
	}
	g.Title, _ = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	g.Body = plainPart(m)
	for line := range strings.Lines(g.Body) {
		if strings.HasPrefix(line, "http") && g.URL == "" {
			g.URL = strings.TrimSpace(line)
		}
	}
}

// plainPart is the text of a message in text and HTML.
func plainPart(m *mail.Message) string {
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	for {
		part, err := parts.NextRawPart()
		if err != nil {
			return ""
		}
		if !strings.HasPrefix(part.Header.Get("Content-Type"), "text/plain") {
			continue
		}
		var r io.Reader = part
		if strings.EqualFold(part.Header.Get("Content-Transfer-Encoding"), "quoted-printable") {
			r = quotedprintable.NewReader(part)
		}
		text, _ := io.ReadAll(io.LimitReader(r, 1<<20)) // what can be read
		return strings.ReplaceAll(string(text), "\r\n", "\n")
	}
}
