package secrets

// automaton finds every place where one of its words ends, in one pass and without regard to the case of ASCII letters:
// that of Aho and Corasick, with every transition in a table.
type automaton struct {
	class [256]uint8 // of a byte; 0 is what no word has
	shift uint       // a row of next has 1<<shift entries
	next  []uint16   // by state and class; accepts is set where words end
	ends  [][]uint16 // by state: the words that end there, by their index
}

// accepts marks a transition into a state where words end. The rest of the entry is the state.
const accepts = 1 << 15

// newAutomaton makes the automaton of words, which are in lower case and not empty. All of them together have less than
// accepts bytes.
func newAutomaton(words []string) *automaton {
	a := &automaton{}
	classes := 1
	for _, w := range words {
		for i := range len(w) {
			if a.class[w[i]] == 0 {
				a.class[w[i]] = uint8(classes)
				classes++
			}
		}
	}
	for c := byte('a'); c <= 'z'; c++ {
		a.class[c-'a'+'A'] = a.class[c]
	}
	for 1<<a.shift < classes {
		a.shift++
	}

	// The trie: state 0 is the root, and 0 stands for no child.
	row := 1 << a.shift
	a.next = make([]uint16, row)
	a.ends = make([][]uint16, 1)
	for n, w := range words {
		state := 0
		for i := range len(w) {
			at := state<<a.shift + int(a.class[w[i]])
			if a.next[at] == 0 {
				a.next[at] = uint16(len(a.ends))
				a.next = append(a.next, make([]uint16, row)...)
				a.ends = append(a.ends, nil)
			}
			state = int(a.next[at])
		}
		a.ends[state] = append(a.ends[state], uint16(n))
	}

	// Breadth first: what a state lacks it takes from the state of its longest proper suffix, which is complete by then.
	suffix := make([]uint16, len(a.ends))
	queue := make([]uint16, 0, len(a.ends))
	for _, child := range a.next[:row] {
		if child != 0 {
			queue = append(queue, child)
		}
	}
	for k := 0; k < len(queue); k++ {
		state := int(queue[k])
		back := int(suffix[state])
		a.ends[state] = append(a.ends[state], a.ends[back]...)
		for c := range row {
			at, instead := state<<a.shift+c, a.next[back<<a.shift+c]
			if child := a.next[at]; child != 0 {
				suffix[child] = instead
				queue = append(queue, child)
			} else {
				a.next[at] = instead
			}
		}
	}
	for i, state := range a.next {
		if len(a.ends[state]) > 0 {
			a.next[i] |= accepts
		}
	}
	return a
}
