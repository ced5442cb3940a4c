package summary

import (
	"path"
	"slices"
	"strings"
)

// simpleCommand is one command of a command line, with its words as the program gets them.
type simpleCommand struct {
	words []string
	piped bool // it reads from another command
	pipes bool // another command reads from it
	odd   bool // it has more in it than plain words: a variable, a pattern, a redirection
}

// simpleCommands splits a command line into its commands. It knows no more of a shell than words, quotes, && ; and |, and
// reports false for a line that needs more: what it does not know, it does not guess.
func simpleCommands(line string) (out []simpleCommand, ok bool) {
	if len(line) > maxCommand || strings.Contains(line, "<<") || strings.Contains(line, "||") {
		return nil, false
	}
	var cmd simpleCommand
	var word strings.Builder
	open := false // a word is open
	flush := func() {
		if open {
			cmd.words = append(cmd.words, word.String())
		}
		word.Reset()
		open = false
	}
	end := func(piped bool) {
		flush()
		cmd.pipes = piped
		if len(cmd.words) > 0 || cmd.odd {
			out = append(out, cmd)
		}
		cmd = simpleCommand{piped: piped}
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case ' ', '\t':
			flush()
		case '\n', ';':
			end(false)
		case '|':
			end(true)
		case '&':
			if byteAt(line, i+1) != '&' {
				if i > 0 && line[i-1] == '>' {
					continue // 2>&1, which made the command odd
				}
				return nil, false
			}
			i++
			end(false)
		case '\'', '"':
			n := strings.IndexByte(line[i+1:], c)
			if n < 0 {
				return nil, false
			}
			inside := line[i+1 : i+1+n]
			cmd.odd = cmd.odd || c == '"' && strings.ContainsAny(inside, "$`\\") || strings.Contains(inside, "\n")
			word.WriteString(inside)
			open = true
			i += n + 1
		case '\\', '(', ')', '{', '}', '!':
			return nil, false
		case '$', '`', '*', '?', '[', ']', '~', '<', '>', '#':
			cmd.odd = true
		default:
			word.WriteByte(c)
			open = true
		}
	}
	end(false)
	for _, cmd := range out {
		if len(cmd.words) > 0 && slices.Contains([]string{"for", "while", "until", "if", "case", "function", "then", "do", "else", "eval"}, cmd.words[0]) {
			return nil, false
		}
	}
	return out, true
}

// operands returns the words behind the name of a command that are no options, and false if one is an option whose
// letters are not all among the known ones.
func operands(words []string, known string) (out []string, ok bool) {
	for i, w := range words {
		switch {
		case w == "--":
			return append(out, words[i+1:]...), true
		case strings.HasPrefix(w, "--") && !slices.Contains([]string{"--force", "--recursive", "--quiet", "--verbose"}, w),
			len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Trim(w[1:], known) != "":
			return nil, false
		case strings.HasPrefix(w, "-"):
		default:
			out = append(out, w)
		}
	}
	return out, true
}

// folder follows the cd of a command line. It reports false where it is lost.
func folder(dir string, cmd simpleCommand) (string, bool) {
	if cmd.odd || len(cmd.words) != 2 || strings.HasPrefix(cmd.words[1], "-") {
		return "", false
	}
	return inFolder(dir, cmd.words[1]), true
}

func inFolder(dir, p string) string {
	if path.IsAbs(p) || dir == "" {
		return path.Clean(p)
	}
	return path.Join(dir, p)
}

// looks reports whether a command does nothing but show files or folders.
func looks(command string) bool {
	cmds, ok := simpleCommands(command)
	if !ok || len(cmds) == 0 {
		return false
	}
	for _, cmd := range cmds {
		if cmd.odd || len(cmd.words) == 0 {
			return false
		}
		switch cmd.words[0] {
		case "cd", "cat", "head", "tail", "nl", "ls", "pwd", "wc":
		case "sed":
			if len(cmd.words) < 3 || cmd.words[1] != "-n" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// lookedAt returns the files that a command shows which looks.
func lookedAt(command string) (files []string) {
	cmds, _ := simpleCommands(command)
	dir := ""
	for _, cmd := range cmds {
		args := cmd.words[1:]
		switch cmd.words[0] {
		case "cd":
			var ok bool
			if dir, ok = folder(dir, cmd); !ok {
				return files
			}
			continue
		case "sed":
			args = args[2:]
		case "cat", "head", "tail", "nl":
		default:
			continue
		}
		for _, p := range args {
			if !strings.HasPrefix(p, "-") && strings.ContainsAny(p, "./") && !strings.HasSuffix(p, "/") && !isNumber(p) {
				files = append(files, inFolder(dir, p))
			}
		}
	}
	return files
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789.,+-") == "" }

// moves follows a command that went well and renamed, moved or deleted files that are listed, by the plain forms of mv,
// rm, git mv and git rm.
func (c *collector) moves(command, result string) {
	if !strings.Contains(command, "mv ") && !strings.Contains(command, "rm ") || len(c.files) == 0 {
		return
	}
	for _, s := range []string{"mv: ", "rm: ", "fatal: ", "cannot "} {
		if strings.Contains(result, s) {
			return // A part of the line may have failed.
		}
	}
	cmds, ok := simpleCommands(command)
	if !ok {
		return
	}
	dir, made := "", map[string]bool{}
	for _, cmd := range cmds {
		if len(cmd.words) == 0 {
			continue
		}
		name, args := cmd.words[0], cmd.words[1:]
		git := name == "git" && len(args) > 0
		if git {
			name, args = args[0], args[1:]
		}
		if name == "cd" && !git {
			if dir, ok = folder(dir, cmd); !ok {
				return
			}
			continue
		}
		if cmd.odd || cmd.piped || cmd.pipes {
			continue
		}
		switch name {
		case "mkdir":
			if paths, ok := operands(args, "pv"); ok {
				for _, p := range paths {
					made[inFolder(dir, p)] = true
				}
			}
		case "mv":
			if paths, ok := operands(args, "fiv"); ok && len(paths) >= 2 {
				c.move(dir, paths[:len(paths)-1], paths[len(paths)-1], made)
			}
		case "rm":
			if paths, ok := operands(args, "rRfivq"); ok {
				for _, p := range paths {
					c.each(inFolder(dir, p), func(f *File, _, _ string) {
						if f.Op != Deleted {
							f.Op, f.To, f.Edits = Deleted, "", f.Edits+1
						}
					})
				}
			}
		}
	}
}

// move follows one mv of files or folders from the working folder dir.
func (c *collector) move(dir string, from []string, to string, made map[string]bool) {
	target := inFolder(dir, to)
	into := len(from) > 1 || strings.HasSuffix(to, "/") || to == "." || to == ".." || made[target]
	for _, p := range from {
		p = inFolder(dir, p)
		base := path.Base(p)
		dst := target
		switch {
		case into:
			dst = path.Join(target, base)
		case path.Base(target) == base, path.Ext(base) != "" && path.Ext(target) != "":
		case path.Ext(base) != "" && path.Ext(target) == "":
			dst = path.Join(target, base) // What has no ending is no file beside one that has.
		default:
			continue // The target may be the new name, or a folder that is there.
		}
		c.each(p, func(f *File, root, rest string) {
			now := dst + rest
			switch abs := path.IsAbs(f.Path); {
			case abs && !path.IsAbs(now):
				now = root + now
			case !abs && path.IsAbs(now):
				now = strings.TrimPrefix(now, root)
			}
			if now = filePath(now); now != f.Path {
				f.Op, f.To = Renamed, now
				return
			}
			f.Op, f.To = Read, "" // It is back.
			if f.Edits > 0 {
				f.Op = Edited
			}
		})
	}
}

// each calls do for the listed files that a path of a command means: the one file that it names, or all below it. The path
// of a file in the list may be absolute and that of the command not, or the other way round; root is what the one has
// before the other, "" if they are alike. Nothing is called if the path could mean files in two places.
func (c *collector) each(p string, do func(f *File, root, rest string)) {
	p = filePath(p)
	if p == "." || p == "/" || p == ".." || strings.HasPrefix(p, "../") {
		return
	}
	type hit struct {
		f          *File
		root, rest string
	}
	var hits []hit
	for _, at := range c.listed() {
		f := c.files[at]
		now := f.Path
		switch f.Op {
		case Renamed:
			now = f.To
		case Deleted:
			continue
		}
		if root, rest, ok := sameFile(now, p); ok {
			if len(hits) > 0 && hits[0].root != root {
				return
			}
			hits = append(hits, hit{f, root, rest})
		}
	}
	for _, h := range hits {
		do(h.f, h.root, h.rest)
		h.f.Failed, h.f.Error, h.f.Shown = false, "", false
		c.order = append(c.order, h.f.Path)
	}
}

// listed returns the paths of the files, in the order of their first operations.
func (c *collector) listed() []string {
	seen := make(map[string]bool, len(c.files))
	out := make([]string, 0, len(c.files))
	for _, p := range c.order {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}

// sameFile reports whether a listed path is, or lies below, a path of a command.
func sameFile(listed, p string) (root, rest string, ok bool) {
	listed = path.Clean(listed)
	switch {
	case path.IsAbs(listed) == path.IsAbs(p):
	case path.IsAbs(listed):
		// A bare name could be in any folder.
		if !strings.Contains(p, "/") {
			return "", "", false
		}
		i := strings.Index(listed+"/", "/"+p+"/")
		if i < 0 {
			return "", "", false
		}
		root, listed = listed[:i+1], listed[i+1:]
	default:
		if !strings.Contains(listed, "/") {
			return "", "", false
		}
		i := strings.Index(p+"/", "/"+listed+"/")
		if i < 0 || i+1+len(listed) != len(p) {
			return "", "", false
		}
		root, p = p[:i+1], p[i+1:]
	}
	if rest, ok = strings.CutPrefix(listed, p); !ok || rest != "" && rest[0] != '/' {
		return "", "", false
	}
	return root, rest, true
}
