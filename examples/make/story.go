package main

import (
	"fmt"
	"strings"
)

const prompt = "You are a coding agent that works in a terminal. You have tools to read, edit and write files and to run commands. " +
	"Be brief. Read before you edit. Run the tests before you say that something works."

func tools() []object {
	text := func(names ...string) object {
		properties := object{}
		for _, n := range names {
			properties[n] = object{"type": "string"}
		}
		return object{"type": "object", "properties": properties, "required": names}
	}
	return []object{
		{"name": "bash", "description": "Run a command.", "parameters": text("command")},
		{"name": "edit", "description": "Replace a text that stands once in a file.", "parameters": text("path", "oldText", "newText")},
		{"name": "read", "description": "Read a file.", "parameters": text("path")},
		{"name": "write", "description": "Write a file.", "parameters": text("path", "content")},
	}
}

// story is what happens.
func story(s *session) {
	s.system(prompt, tools())

	s.user(`A customer complains that her receipt is off by one cent: 3 × Green tea at 3.33 with SPRING should be 8.49 and we charged 8.52. ` +
		`Find out why and fix it. docs/rounding.md is signed by the accountant, so the code must do what it says. ` +
		`Do not change the signatures of anything exported, and never use floats. The photo of the receipt is testdata/receipt.png.`)
	s.assistant("First a look around: what is this repository, does it build, what do the tests say?", "I'll look around first.",
		s.bash("go version && git log --oneline"), s.bash("find . -name '*.go' -o -name '*.md' | sort | xargs wc -l"), s.bash("ls -1 testdata docs cmd"))
	s.assistant("", "", s.read("README.md"), s.read("docs/rounding.md"), s.read("testdata/receipt.png"))
	s.assistant("The receipt shows 8.52 for the first line. 9.99 - 8.52 = 1.47 = 3 × 0.49: the discount is taken for one piece and truncated.", "",
		s.read("cart/cart.go"), s.read("money/money.go"))
	s.assistant("", "Two suspects: `BasisPoints.Of` truncates, and `reprice` discounts one piece and multiplies. Tests?", s.bash("go vet ./..."))
	s.assistant("checkout does not even compile. Unrelated, or somebody's half-done work?", "", s.bash("go test ./checkout"))
	s.assistant("", "", s.bash("go test ./checkout"))
	s.assistant("", "", s.read("checkout/checkout.go"), s.read("tax/tax.go"))
	s.assistant("", "`checkout` calls `tax.RateFor`, which does not exist. Let me see whether it ever did.",
		s.bash("git log -p --stat -- tax checkout"), s.bash("grep -rn 'RateFor\\|tax\\.Rate' --include=*.go ."))
	s.assistant("", "", s.bash("go test ./checkout"))
	s.assistant("It never existed. Use tax.Rate with the class of the item.", "",
		s.edit("checkout/checkout.go", "rate, err := tax.RateFor(country, line.Item)", "rate, err := tax.Rate(country, line.Item.Class)"))
	s.assistant("", "", s.bash("go test ./..."))
	s.assistant("", "It builds, and `TestDiscountIsOfTheLine` shows the customer's cent. "+
		"What is there in the standard library for rounding half to even on integers?",
		s.bash("go doc -all math/big | head -n 420"), s.bash("go doc -all math/bits"))
	s.assistant(strings.Repeat("big.Rat is exact but slow, and an int64 is enough here as long as the product does not overflow. ", 3),
		"Nothing that fits; integers it is. The catalog, to see how large amounts get:", s.read("testdata/catalog.json"))
	s.assistant("", "", s.read("cart/cart.go"))
	s.assistant("", "", s.edit("money/money.go", "\treturn Cents(int64(c)*int64(p)/10000)\n", "\treturn Cents(roundHalfUp(int64(c)*int64(p), 10000))\n"))

	s.user("careful: half to even, not half up. and negative amounts exist (returns), they must round the same way")

	s.assistant("Half to even, symmetric for negative amounts. Also my edit failed: the spaces around / were wrong.",
		"Right, rule 4. And the edit missed the spaces.",
		s.read("money/money.go"))
	s.assistant("", "", s.edit("money/money.go", `// Of returns the part of c that p is.
func (p BasisPoints) Of(c Cents) Cents {
	return Cents(int64(c) * int64(p) / 10000)
}
`, `// Of returns the part of c that p is, rounded to whole cents, half a cent to the even one (docs/rounding.md, rule 4).
func (p BasisPoints) Of(c Cents) Cents {
	const whole = 10000
	product := int64(c) * int64(p)
	quotient, rest := product/whole, product%whole
	sign := int64(1)
	if product < 0 {
		sign, rest = -1, -rest
	}
	if rest*2 > whole || rest*2 == whole && quotient%2 != 0 {
		quotient += sign
	}
	return Cents(quotient)
}
`))
	s.assistant("", "", s.edit("cart/cart.go", `			// The discount of one piece, times the pieces.
			line.Discount = c.coupon.Off.Of(line.Item.Price) * money.Cents(line.Quantity)
`, `			// Of the line, not of one piece (docs/rounding.md, rule 1).
			line.Discount = c.coupon.Off.Of(line.Gross())
`))
	s.assistant("", "Now a test that goes through all of rule 4, both signs.", s.put("money/round_test.go", roundTest))
	s.assistant("", "", s.bash("go test -v ./money ./cart"))
	s.assistant("", "", s.read("cart/cart.go"))
	s.assistant("", "", s.bash("go vet ./... && go test ./..."))
	s.assistant("", strings.Repeat("Let me check the rounding of the discount once more before I go on. ", 90))

	s.user("you were stuck in a loop there. continue")

	s.assistant("", "Sorry. Everything is green; the customer's cart, end to end:",
		s.bash("go run ./cmd/shop -catalog testdata/catalog.json -cart 'green-000=3,mug-001=1' -coupon SPRING -country DE"))
	s.assistant("", "", s.bash("git status --short && git diff"))
	s.assistant("", "Done. `BasisPoints.Of` truncated and is now rounded half to even for both signs; "+
		"the discount is taken from the line and not from one piece; `checkout` did not compile and uses `tax.Rate` now. "+
		"No exported signature changed, no floats. 3 × 3.33 with SPRING is 8.49.")

	s.user("Great. Now do the same for what we owe suppliers: add a package payout that splits an amount among suppliers by basis points, " +
		"so that the parts always add up to the whole. Largest remainder, ties to the first one.")
	s.assistant("Largest remainder with integers: floor every share, hand out the missing cents by the size of the rest. "+
		"Negative amounts: split the absolute value.", "",
		s.read("money/money.go"), s.bash("go doc -all slices"))
	s.assistant("", "", s.put("payout/payout.go", payout))
	s.assistant("", "", s.put("payout/payout_test.go", payoutTest))
	s.assistant("", "", s.bash("go test -v ./payout"))
	s.assistant("The test wants rates that miss 100 % refused, and Split takes them.", "Rates that do not make 100 % must be refused.",
		s.edit("payout/payout.go", "\tif len(shares) == 0 {\n",
			"\tvar sum money.BasisPoints\n\tfor _, p := range shares {\n\t\tsum += p\n\t}\n\tif sum != money.Percent(100) {\n"))
	s.assistant("", "", s.bash("go vet ./... && go test -v ./payout ./money"))
	s.assistant("", "Package `payout` is there: `Split(amount, shares...)` gives parts that always add up to the amount, "+
		"by largest remainder, ties to the first; shares that do not make 100 % are refused with `ErrShares`. All tests pass.")

	s.user("One more thing before the write-up: suppliers/ has a price list for each supplier, and several have a price with more than " +
		"two digits behind the point, which catalog would refuse. Go through them one by one, " +
		"round those to whole cents by our rule, and keep everything else as it is.")
	s.assistant("One by one, as asked. Each file is short: read it, fix the line, look at what is left.", "",
		s.bash("ls -1 suppliers && wc -c suppliers/*.csv | tail -n 1"))
	for n := range suppliers {
		name := supplierFile(n)
		s.assistant("", "", s.read(name))
		if wrong, right := supplierFault(n); wrong != "" {
			s.assistant("", "Line "+wrong+" has a fraction of a cent.", s.edit(name, wrong, right))
		}
		if n%6 == 5 {
			s.assistant("", "", s.bash("make check-prices"))
			s.assistant("", "There is no Makefile. By hand, and the tests along with it:", s.bash("go test -v ./payout"))
			s.assistant("", "", s.bash(fmt.Sprintf("grep -nE '[0-9]+\\.[0-9]{3,}' $(ls suppliers/*.csv | head -n %d) || echo 'all prices so far have two digits'", n+1)))
		}
	}
	s.assistant("", "A second look at those where half a cent was in play.", s.read(supplierFile(23)), s.read(supplierFile(25)), s.read(supplierFile(29)))
	s.assistant("", "", s.bash("git diff --stat -- suppliers && go test ./..."))
	s.assistant("", fmt.Sprintf("All %d price lists are read. The ones with a fraction of a cent are rounded half to even, nothing else was touched.", suppliers))

	s.user("Please also write it up in the README and docs/rounding.md, and tell me what is still open.")
	s.assistant("", "", s.read("README.md"), s.read("docs/rounding.md"))
	s.assistant("", "",
		s.edit("README.md", "| checkout | cart + tax = receipt |\n", "| checkout | cart + tax = receipt |\n| payout | splits an amount among suppliers |\n"),
		s.edit("docs/rounding.md", "\nExample:",
			"5. An amount that is split keeps its sum: every part is rounded down, and the cents that are left "+
				"go to the largest\n   remainders, of equal ones to the first.\n\nExample:"))
	s.assistant("", "", s.bash("git diff --stat && go vet ./... && go test ./..."))
	s.assistant("", "Both are written up. Still open: nothing calls `payout` yet, and `Coupon.Expires` is compared with local time, which I left alone.")
}

const roundTest = `package money

import (
	"fmt"
	"testing"
)

// Every amount from -2.00 to 2.00 by six rates, against the rule written with the remainder alone.
func TestOfRoundsHalfToEven(t *testing.T) {
	for _, p := range []BasisPoints{50, 260, 550, 1500, 2500, 5000} {
		for c := Cents(-200); c <= 200; c += 16 {
			t.Run(fmt.Sprintf("%d_of_%s", p, c), func(t *testing.T) {
				got := p.Of(c)
				rest := int64(c)*int64(p) - int64(got)*10000
				if rest > 5000 || rest < -5000 {
					t.Errorf("%s is not the nearest cent, the rest is %d", got, rest)
				}
				if (rest == 5000 || rest == -5000) && got%2 != 0 {
					t.Errorf("%s is odd, and half a cent goes to the even one", got)
				}
			})
		}
	}
}

// The customer's receipt.
func TestSpring(t *testing.T) {
	if got := Percent(15).Of(999); got != 150 {
		t.Errorf("15 %% of 9.99 is %s, want 1.50", got)
	}
	if got := Percent(15).Of(-999); got != -150 {
		t.Errorf("15 %% of -9.99 is %s, want -1.50", got)
	}
}

func TestRuleFour(t *testing.T) {
	half := Percent(50)
	for _, c := range []struct{ in, want Cents }{
		{1, 0}, {3, 2}, {5, 2}, {7, 4}, {9, 4}, {11, 6}, {13, 6}, {15, 8},
		{-1, 0}, {-3, -2}, {-5, -2}, {-7, -4}, {-9, -4}, {-11, -6}, {-13, -6}, {-15, -8},
	} {
		if got := half.Of(c.in); got != c.want {
			t.Errorf("half of %s is %s, want %s", c.in, got, c.want)
		}
	}
}
`

const payout = `// Package payout splits what the shop owes among its suppliers.
package payout

import (
	"errors"

	"example.com/shop/money"
)

// ErrShares says that shares do not make 100 %.
var ErrShares = errors.New("shares must add up to 100 %")

// Split splits an amount by shares, so that the parts add up to it. Every part is rounded down, and the cents that are left
// go to the largest remainders, of equal ones to the first.
func Split(amount money.Cents, shares ...money.BasisPoints) ([]money.Cents, error) {
	if len(shares) == 0 {
		return nil, ErrShares
	}
	sign := money.Cents(1)
	if amount < 0 {
		sign, amount = -1, -amount
	}
	parts := make([]money.Cents, len(shares))
	rests := make([]int64, len(shares))
	left := amount
	for i, p := range shares {
		product := int64(amount) * int64(p)
		parts[i], rests[i] = money.Cents(product/10000), product%10000
		left -= parts[i]
	}
	for ; left > 0; left-- {
		largest := 0
		for i, r := range rests {
			if r > rests[largest] {
				largest = i
			}
		}
		parts[largest]++
		rests[largest] = -1
	}
	for i := range parts {
		parts[i] *= sign
	}
	return parts, nil
}
`

const payoutTest = `package payout

import (
	"errors"
	"fmt"
	"testing"

	"example.com/shop/money"
)

func TestSumIsKept(t *testing.T) {
	shares := []money.BasisPoints{3333, 3333, 3334}
	for amount := money.Cents(-120); amount <= 120; amount += 8 {
		t.Run(fmt.Sprintf("amount_%s", amount), func(t *testing.T) {
			parts, err := Split(amount, shares...)
			if err != nil {
				t.Fatal(err)
			}
			if got := money.Sum(parts...); got != amount {
				t.Errorf("the parts %v make %s", parts, got)
			}
		})
	}
}

func TestTies(t *testing.T) {
	parts, err := Split(1, 5000, 5000)
	if err != nil || parts[0] != 1 || parts[1] != 0 {
		t.Errorf("%v, %v", parts, err)
	}
}

func TestSharesMustMakeTheWhole(t *testing.T) {
	for _, shares := range [][]money.BasisPoints{nil, {5000}, {9000, 2000}} {
		if _, err := Split(100, shares...); !errors.Is(err, ErrShares) {
			t.Errorf("%v: %v", shares, err)
		}
	}
}
`

// suppliers is how many price lists there are.
const suppliers = 30

func supplierFile(n int) string { return fmt.Sprintf("suppliers/%02d.csv", n+1) }

// supplierFault is the line of a price list that is wrong, and how it is right; "" for a list without a fault.
func supplierFault(n int) (wrong, right string) {
	if n%3 == 1 {
		return "", ""
	}
	row := 5 + n%17
	price := 300 + n*53%900
	half := 5 * (n % 2)
	cents := price
	if half > 0 && price%2 != 0 {
		cents++
	}
	sku := supplierSKU(n, row)
	return fmt.Sprintf("%s,%d.%02d%d", sku, price/100, price%100, half), fmt.Sprintf("%s,%d.%02d", sku, cents/100, cents%100)
}

func supplierSKU(n, row int) string { return fmt.Sprintf("S%02d-%04d", n+1, 1000+row*37+n*11) }

// supplierList is the price list of a supplier.
func supplierList(n int) []byte {
	goods := []string{"Sencha loose", "Assam", "Earl Grey", "Stoneware mug", "Teapot 0.8 l", "Bamboo whisk", "Filter paper", "Rooibos"}
	wrong, _ := supplierFault(n)
	var b strings.Builder
	fmt.Fprintf(&b, "# supplier %d, valid from 2026-03-01, EUR, before tax\nsku,price,stock,what\n", n+1)
	for row := range 38 {
		sku, price := supplierSKU(n, row), 250+(row*97+n*31)%4000
		line := fmt.Sprintf("%s,%d.%02d", sku, price/100, price%100)
		if wrong != "" && strings.HasPrefix(wrong, sku+",") {
			line = wrong
		}
		fmt.Fprintf(&b, "%s,%d,%s\n", line, (row*13+n*7)%90, goods[(row+n)%len(goods)])
	}
	return []byte(b.String())
}
