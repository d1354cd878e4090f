// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio/reactor"
)

// A loop runs until a callback, or another goroutine, stops it.
func Example() {
	var loop *reactor.EventLoop
	loop, err := reactor.New(reactor.Config{
		Init: func() {
			fmt.Println("Hello, NetIO!")
			loop.Stop()
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer loop.Close()
	if err := loop.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: Hello, NetIO!
}

// A signal may be fired from any goroutine. In semaphore mode each fire has its
// callback.
func ExampleEventLoop_NewSignal() {
	loop, err := reactor.New(reactor.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer loop.Close()
	callbacks := 0
	signal, err := loop.NewSignal(reactor.Semaphore, func() {
		if callbacks++; callbacks == 6 {
			loop.Stop()
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		go func() {
			signal.Fire()
			signal.Fire()
		}()
	}
	if err := loop.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(callbacks, "callbacks")
	// Output: 6 callbacks
}

// To poll without blocking the loop, fire a signal in its own callback: all
// others get their turn in between.
func ExampleSignal_Fire_polling() {
	loop, err := reactor.New(reactor.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer loop.Close()
	polls := 0
	var poll *reactor.Signal
	poll, err = loop.NewSignal(reactor.Coalescing, func() {
		polls++
		poll.Fire()
	})
	if err != nil {
		log.Fatal(err)
	}
	timer, err := loop.NewTimer(loop.Stop)
	if err != nil {
		log.Fatal(err)
	}
	if err := timer.StartOnce(10 * time.Millisecond); err != nil {
		log.Fatal(err)
	}
	poll.Fire()
	if err := loop.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println("polled more than ten times:", polls > 10)
	// Output: polled more than ten times: true
}

// A timer counts down.
func ExampleEventLoop_NewTimer() {
	loop, err := reactor.New(reactor.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer loop.Close()
	counter := 3
	timer, err := loop.NewTimer(func() {
		fmt.Println(counter)
		if counter--; counter == 0 {
			loop.Stop()
		}
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := timer.Start(time.Millisecond); err != nil {
		log.Fatal(err)
	}
	if err := loop.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 3
	// 2
	// 1
}

// line reads what arrives on a descriptor, and ends the loop with it.
type line struct {
	fd           int
	loop         *reactor.EventLoop
	registration *reactor.Registration
}

func (l *line) OnEvent(reactor.Events) {
	buffer := make([]byte, 100)
	n, err := unix.Read(l.fd, buffer)
	if err == unix.EAGAIN || err == unix.EINTR {
		return // it comes again
	}
	fmt.Printf("read %q\n", buffer[:max(n, 0)])
	_ = l.registration.Close() // first the registration,
	_ = unix.Close(l.fd)       // then the descriptor
	l.loop.Stop()
}

// Any descriptor that can be polled becomes a source.
func ExampleEventLoop_Register() {
	loop, err := reactor.New(reactor.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer loop.Close()
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		log.Fatal(err)
	}
	defer unix.Close(pipe[1])
	source := &line{fd: pipe[0], loop: loop}
	source.registration, err = loop.Register(pipe[0], reactor.Readable, source)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := unix.Write(pipe[1], []byte("message")); err != nil {
		log.Fatal(err)
	}
	if err := loop.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: read "message"
}

// Other goroutines hand functions to the loop, which owns the data.
func ExampleEventLoop_Post() {
	loop, err := reactor.New(reactor.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer loop.Close()
	total := 0 // touched only on the loop
	for i := range 10 {
		go loop.Post(func() {
			if total += i; total == 45 {
				loop.Stop()
			}
		})
	}
	if err := loop.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(total)
	// Output: 45
}
