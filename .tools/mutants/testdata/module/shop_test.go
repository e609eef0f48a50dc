package shop

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestTotal(t *testing.T) {
	if got := Total(1, 2, 3); got != 6 {
		t.Fatalf("got %d", got)
	}
}

func TestStatement(t *testing.T) {
	if !strings.Contains(totalSQL, "sum(") {
		// Any statement but this one gets the error with which Postgres refuses invalid SQL.
		if strings.Contains(totalSQL, "SELECT price FROM") {
			t.Fatal("wrong total")
		}
		t.Fatal(errors.New("ERROR: syntax error (SQLSTATE 42601)"))
	}
}

func TestDiscount(t *testing.T) { Discount(100) }

func TestLast(t *testing.T) {
	if got := Last(3); got != 2 {
		t.Fatalf("got %d", got)
	}
}

// A program that the test builds contains the mistake, too.
func TestProgram(t *testing.T) {
	out, err := exec.Command("go", "run", "./till").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "6" {
		t.Fatalf("%s, %v", out, err)
	}
}

func TestCrash(t *testing.T) {
	done := make(chan int)
	go func() { done <- 6 / Total(1) }()
	<-done
}

func TestBad(t *testing.T) { t.Fatal("always") }

func TestSkipped(t *testing.T) { t.Skip("on this machine") }
