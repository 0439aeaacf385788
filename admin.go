package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"fanline/fanout"
	"fanline/web/admin"
)

// staff are who may log in to the admin pages; empty: nobody.
func (s *settings) staff() (*admin.Users, error) {
	switch {
	case s.AdminUsers != "" && s.AdminPassword != "":
		return nil, &badConfig{"FANLINE_ADMIN_PASSWORD", "is for a single user; with FANLINE_ADMIN_USERS, leave it out"}
	case s.AdminPassword != "":
		users, err := admin.SingleUser(s.AdminPassword)
		if err != nil {
			return nil, &badConfig{"FANLINE_ADMIN_PASSWORD", err.Error()}
		}
		return users, nil
	}
	users, err := admin.ParseUsers(s.AdminUsers)
	if err != nil {
		return nil, &badConfig{"FANLINE_ADMIN_USERS", err.Error()}
	}
	return users, nil
}

// newAdmin makes the admin pages.
func (a *app) newAdmin(s *settings) (*admin.Admin, error) {
	users, err := s.staff()
	if err != nil {
		return nil, err
	}
	if a.jobs, err = a.newJobs(); err != nil {
		return nil, err
	}
	pages, err := admin.New(admin.Config{
		Line: a.lines, Announcer: fanout.Announcer{Store: a.store, Fanout: a.fanout}, Records: a.store, Users: users, PublicURL: s.PublicURL,
		Engine: engine{a}, Jobs: a.jobs, Log: a.log,
	})
	if err != nil {
		return nil, &badConfig{"FANLINE_PUBLIC_URL", err.Error()}
	}
	return pages, nil
}

type adminHashCommand struct{}

// Run reads a password, from a terminal without showing it and twice, and prints
// its hash.
func (adminHashCommand) Run() error {
	password, err := readPassword()
	if err != nil {
		return err
	}
	hash, err := admin.HashPassword(password)
	if err != nil {
		return err
	}
	fmt.Println(hash)
	return nil
}

func readPassword() (string, error) {
	in := int(os.Stdin.Fd())
	if !term.IsTerminal(in) {
		line, err := bufio.NewReader(os.Stdin).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the password: %w", err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	ask := func(prompt string) (string, error) {
		fmt.Fprint(os.Stderr, prompt)
		defer fmt.Fprintln(os.Stderr)
		b, err := term.ReadPassword(in)
		return string(b), err
	}
	first, err := ask("password: ")
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	again, err := ask("again: ")
	if err == nil && again != first {
		err = errors.New("the two are not the same")
	}
	return first, err
}
