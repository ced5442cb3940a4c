package token_test

import (
	"fmt"
	"strings"

	"github.com/pemmican-dev/pemmican"
	"github.com/pemmican-dev/pemmican/token"
)

// A counter that is fitted to what the provider has reported, and remembers what it has counted.
func ExampleCalibrate() {
	t := &pemmican.Transcript{}
	t.AddUser(strings.Repeat("Please read the plan and say what is missing. ", 100))
	t.AddAssistant("Nothing is missing.")
	t.Messages[1].Usage = 9000 // as the provider reported it

	fit := token.Calibrate(t, token.Estimator{})
	counter := token.NewCache(token.Estimator{Vendor: "anthropic", Ratio: fit.Ratio}, 0)

	size := fit.Overhead.Tokens
	for i := range t.Blocks {
		size += counter.Count(&t.Blocks[i])
	}
	fmt.Println(size, fit.Overhead.Source, fit.Ratio, counter.Name())
	// Output: 9000 estimated 1 estimate:o200k
}
