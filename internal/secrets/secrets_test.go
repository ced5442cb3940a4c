package secrets

import (
	"fmt"
	"go/build"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican/internal/secrets/secretstest"
)

// The secrets of these tests are made of parts, and some by chance, so that no scanner takes this file for a leak.

// random returns n characters of an alphabet, the same ones for the same seed.
func random(seed uint64, n int, alphabet string) string {
	rng := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[rng.IntN(len(alphabet))])
	}
	return b.String()
}

const (
	alnum = letters + digits
	lower = "abcdefghijklmnopqrstuvwxyz"
	hex   = "0123456789abcdef"

	dashes = "-----" // around the lines of a key
)

// gone checks that no secret is left of a text, and that the rest of it is. A secret stands between « and ».
func gone(t *testing.T, marked string) {
	t.Helper()
	text := strings.NewReplacer("«", "", "»", "").Replace(marked)
	out, n := Redact(text)
	want := regexp.MustCompile("«[^»]*»").ReplaceAllString(marked, "§")
	got := regexp.MustCompile(`\[redacted: [a-z0-9-]+\]`).ReplaceAllString(out, "§")
	if got != want || n != strings.Count(marked, "«") {
		t.Errorf("%s\nhas become %s\nwant       %s", text, out, want)
	}
}

// TestAssigned: SEC-05, the values of names, whatever they are made of.
func TestAssigned(t *testing.T) {
	for _, marked := range []string{
		// .env files and shells
		"DB_PASSWORD=«hunter2»",
		"DB_PASSWORD=«swordfish»\nPORT=5432",
		"export API_KEY=«abc»",
		"export API_KEY=\"«abc def»\"",
		"  SECRET_KEY_BASE='«s3cr3t»'",
		"GITHUB_TOKEN=«0xdeadbeefcafe11»",
		"MYSQL_ROOT_PASSWORD: «root1234»",
		"SMTP_PASS=«p@ss,w0rd;)»",
		"ADMIN_PWD=«letmein99»",
		"docker run -e DB_PASSWORD=«hunter2» -e PORT=1 image",
		"FOO=1 BAR_TOKEN=«abc123def» ./run",
		"   12→DB_PASSWORD=«hunter2»",
		"12:API_KEY=«k1k2k3»",
		"+DB_PASSWORD=«hunter2»\n-DB_PASSWORD=«hunter1»",
		"PASSWORD_HASH=«$2b$12$abcdefghijklmnopqrstuv»",
		"DB_PASSWORD=«hunter2» # the database",
		"DB_PASSWORD=«hunter2»\r\nX=1",
		"DB_PASSWORD = \"«hunter2»\"",
		// configuration files
		"password = «hunter2»",
		"db.password=«swordfish»",
		"spring.datasource.password=«hunter2»\n",
		"password: «hunter2»",
		"db_password: \"«hunter2»\"",
		"  password: '«correcthorse»'",
		"  client_secret: «q1w2e3r4t5»",
		"- password: «hunter2»",
		"passphrase: «swordfish»",
		// JSON and source code
		`{"db_password": "«hunter2»", "port": 1}`,
		`{"password":"«hunter2»"}`,
		`{"clientSecret":"«hunter2»"}`,
		`const apiToken = "«a1b2c3»";`,
		`password := "«hunter2»"`,
		`auth: { password: '«hunter2»' }`,
		`'api_key' => '«a1b2c3d4»'`,
		`os.environ["DB_PASSWORD"] = "«hunter2»"`,
		"const token = `«a1b2c3»`",
		// commands and URLs
		"mysql --password=«hunter2» -u root",
		"tool --api-key «a1b2c3d4» run",
		"GET /x?token=«abc123def456»&a=1",
		"user=bob&password=«hunter2»",
		"curl -H 'X-Api-Key: «a1b2c3d4»' http://h",
		"x-auth-token: «a1b2c3d4»",
		"X-Vault-Token: «ab12cd34ef»",
		// a key that begins as a path does
		"AWS_SECRET_ACCESS_KEY=«/" + random(1, 39, alnum) + "»",
		"aws_secret_access_key = «" + random(2, 40, alnum) + "»",
	} {
		gone(t, marked)
	}
}

// TestNotAssigned: placeholders, counts, types, variables and calls stay, and so does source code.
func TestNotAssigned(t *testing.T) {
	for _, text := range []string{
		"DB_PASSWORD=", "DB_PASSWORD=\"\"", "DB_PASSWORD=changeme", "DB_PASSWORD=xxxxxxxx", "DB_PASSWORD=${DB_PASSWORD}", "DB_PASSWORD=$PW",
		"DB_PASSWORD=$(pass show db)", "DB_PASSWORD=<your password>", "DB_PASSWORD=<secret>", "DB_PASSWORD=********", "DB_PASSWORD=%DB_PW%",
		"DB_PASSWORD=/run/secrets/db", "DB_PASSWORD_FILE=/run/secrets/db", "DB_PASSWORD=true", "DB_PASSWORD=null", "DB_PASSWORD=12", "DB_PASSWORD=123",
		"API_KEY=your-api-key-here", "API_KEY={{ .Values.key }}", "API_KEY=sk-...", "API_KEY=\"<key>\"", "TOKEN=example-token", "SECRET=placeholder",
		"SECRET_NAME=db-creds", "TOKEN_URL=https://host/token", "PASSWORD_MIN_LENGTH=12", "TOKEN_TTL=3600", "MAX_TOKENS=4096",
		"max_tokens: 200000", "\"input_tokens\": 12345, \"output_tokens\": 678", "total_tokens=50000", "token_count = 12345", "tokens: 12,345",
		"token = getToken()", "token := tok", "password: string", "password: String,", "secret: Uint8Array", "token: Token;", "token?: string | undefined",
		"password = args.password", "password = request.form[\"password\"]", "token = tokens[i]", "password=password,", "token=token)", "f(token=tok)",
		"self.token = token", "this.password = password", "if token == \"abc123\" {", "token != nil", "token.COLON: \":\"", "return token, nil",
		"password = os.Getenv(\"DB_PASSWORD\")", "apiKey: process.env.API_KEY", "secret: !Ref DbSecret", "password: *anchor",
		"tokenizer = \"gpt2-medium1\"", "passwordless: \"mode1234\"", "secretary: \"alice1234\"", "tokenType: \"bearer1234\"",
		"the password: it must have eight characters", "Token: expired at 12:00", "invalid token: unexpected end", "errors.New(\"token: malformed\")",
		"secretName: my-app-tls", "secretKeyRef:", "secret: my-app-secret", "\"type\": \"password\"", "password: \"Password\"", "password: \"********\"",
		"\"password\": {\"type\": \"string\"}", "\"required\": [\"token\", \"x\"]", "const TOKEN_EOF = 1", "#define TOKEN_IF 258", "case token:", "tokens := 0",
		"eos_token: \"</s>\"", "\"next_page_token\": \"CAUQAA1\"", "key: value", "keyboard = \"qwerty123456\"", "SECRET\n", "password:", "token =",
		"\"js-tokens\": \"^4.0.0\"", "password=`${password}`", "Authorization: Bearer ${token}", "Authorization: Bearer <token>", "Authorization: Basic ",
		"request.Header.Set(\"Authorization\", \"Bearer \"+token)", "authorization: enabled", "bearer authentication is required",
		"Cookie: a=b", "cookie = parse(header)", "cookie: theme=dark",
	} {
		if out, n := Redact(text); n != 0 || out != text {
			t.Errorf("%s\nhas become %s", text, out)
		}
	}
}

// TestEscapes: a value ends where it does in JSON, and in JSON in JSON.
func TestEscapes(t *testing.T) {
	for _, marked := range []string{
		`{"content":"API_KEY=«abc»\nFOO=bar\nDB_PASSWORD=«xyz9»"}`,
		`{"content":"API_KEY=«abc»\r\nFOO=bar"}`,
		`{"args":"{\"content\":\"API_KEY=«abc»\\nFOO=bar\"}"}`,
		`{\"db_password\": \"«hunter2»\", \"a\": 1}`,
		`{\\\"db_password\\\": \\\"«hunter2»\\\", \\\"a\\\": 1}`,
		`{"command":"export DB_PASSWORD=\"«hunter2»\" && run"}`,
		`{"password":"«hun\"ter2»","a":"b"}`,
		`{\"password\":\"«hun\\\"ter2»\",\"a\":\"b\"}`,
		`{"password":"«hun\\»","a":"b"}`,
		`{"command":"curl -u \"admin:«s3cret!»\" https://host"}`,
		`{"command":"curl -H \"Authorization: Bearer «abc123def456»\" https://host"}`,
		`{"command":"curl -H \"X-Api-Key: «a1b2c3d4»\""}`,
		`"` + dashes + `BEGIN PRIVATE KEY` + dashes, // a constant, and no key
		`{"app_key\": \"«` + random(3, 32, hex) + `»\"}`,
		`{"text":"app_key = ` + "«" + random(4, 32, hex) + `»\nnext"}`,
	} {
		gone(t, marked)
	}
}

func TestURLs(t *testing.T) {
	for _, marked := range []string{
		"postgres://user:«hunter2»@localhost:5432/db",
		"DATABASE_URL=postgres://user:«hun:ter@2»@db/x?y=z",
		"redis://:«hunter2»@cache:6379",
		"git clone https://x-access-token:«" + random(5, 20, alnum) + "»@github.com/a/b",
		`"url": "amqp://guest:«hunter2»@mq"`,
		`{\"url\": \"mongodb+srv://a:«b1»@c\"}`,
		"http://user:${PASSWORD}@host", "http://user:<password>@host", "http://user:****@host", "http://user@host", "http://host:80/a@b", "http://user:@host",
		"https://host/path:a@b", "see http://host: a@b", "http://user:password@host",
	} {
		gone(t, marked)
	}
}

func TestHeaders(t *testing.T) {
	token := random(6, 24, alnum)
	for _, marked := range []string{
		"Authorization: Bearer «" + token + "»",
		"authorization: Basic «dXNlcjpodW50ZXIy»",
		"> Authorization: token «" + token + "»\r\n",
		`"Authorization": "Bearer «` + token + `»"`,
		`headers["Authorization"] = "Bearer «` + token + `»"`,
		`req.Header.Set("Authorization", "Bearer «` + token + `»")`,
		"Proxy-Authorization: Basic «dXNlcjpodW50ZXIy»",
		"sent bearer «" + token + "», got 200",
		"Cookie: session=«" + token + "»; theme=dark; id=«" + token + "»",
		"Set-Cookie: sid=«" + token + "»; Path=/; Expires=Wed21Oct2026",
		"curl --cookie \"sid=«" + token + "»\" http://host",
		"curl -s -H 'PRIVATE-TOKEN: «" + token + "»' http://host",
	} {
		gone(t, marked)
	}
}

func TestPrivateKeys(t *testing.T) {
	var lines []string
	for i := range uint64(12) {
		lines = append(lines, random(20+i, 64, alnum+"+/"))
	}
	lines = append(lines, random(40, 20, alnum)+"==")
	for _, kind := range []string{"RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""} {
		begin, end := dashes+"BEGIN "+kind+"PRIVATE KEY"+dashes, dashes+"END "+kind+"PRIVATE KEY"+dashes
		for _, sep := range []string{"\n", "\r\n", `\n`, `\\n`, "\n    ", "\n    12\t", "\\n\" +\n  \""} {
			body := strings.Join(lines, sep)
			gone(t, "key: «"+begin+sep+body+sep+end+"»\nnext line")
			gone(t, "key: «"+begin+sep+strings.Join(lines[:3], sep)+"»") // cut
		}
		gone(t, "«"+begin+"\n"+strings.Join(lines, "\n")+"»\n\nIt was a key.")
		gone(t, "«"+begin+"\n"+strings.Join(lines, "\n")+"»\nIt was a key.")
		gone(t, "«"+begin+"\n"+strings.Join(lines[:2], "\n")+"\n"+lines[2][:30]+"»\n[... cut ...]")
	}
	gone(t, "«"+dashes+"BEGIN RSA PRIVATE KEY"+dashes+"\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,"+random(41, 32, hex)+"\n\n"+strings.Join(lines, "\n")+"\n"+dashes+"END RSA PRIVATE KEY"+dashes+"»")
	gone(t, "«"+dashes+"BEGIN PGP PRIVATE KEY BLOCK"+dashes+"\nVersion: GnuPG v2\n\n"+strings.Join(lines, "\n")+"\n=aB3d\n"+dashes+"END PGP PRIVATE KEY BLOCK"+dashes+"»")
	gone(t, `{"private_key": "«`+dashes+`BEGIN PRIVATE KEY`+dashes+`\n`+strings.Join(lines, `\n`)+`\n`+dashes+`END PRIVATE KEY`+dashes+`»\n", "id": 1}`)
	for _, text := range []string{
		dashes + "BEGIN PRIVATE KEY" + dashes, `strings.HasPrefix(s, "` + dashes + `BEGIN RSA PRIVATE KEY` + dashes + `") && ok`,
		dashes + "BEGIN PRIVATE KEY" + dashes + "\nabc\n" + dashes + "END PRIVATE KEY" + dashes,
		"-----BEGIN CERTIFICATE-----\n" + strings.Join(lines, "\n") + "\n-----END CERTIFICATE-----",
		dashes + "BEGIN PUBLIC KEY" + dashes + "\n" + strings.Join(lines, "\n") + "\n" + dashes + "END PUBLIC KEY" + dashes,
	} {
		gone(t, text)
	}
}

func TestWebTokens(t *testing.T) {
	header, claims, signature := "eyJ"+random(50, 33, alnum), "eyJ"+random(51, 80, alnum+"_-"), random(52, 43, alnum+"_-")
	for _, marked := range []string{
		"«" + header + "." + claims + "." + signature + "»",
		"got «" + header + "." + claims + "." + signature + "», and went on",
		"(«" + header + "." + claims + "»)",
		"cut «" + header + "." + claims + "." + signature[:20] + "»",
		"«" + header + "." + signature + "." + signature + "." + claims + "." + signature + "»", // encrypted
		"eyJ." + claims[:6], "eyJhbGciOiJIUzI1NiJ9 alone",
	} {
		gone(t, marked)
	}
}

func TestKubernetes(t *testing.T) {
	for _, marked := range []string{
		"apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\ndata:\n  username: «YWRtaW4=»\n  pw: «aHVudGVyMg==»\n---\nkind: ConfigMap\ndata:\n  a: YWRtaW4=\n",
		"apiVersion: v1\ndata:\n  username: «YWRtaW4=»\n  pw: «aHVudGVyMg==»\nkind: Secret\nmetadata:\n  name: db\n",
		"kind: ConfigMap\ndata:\n  a: YWRtaW4=\n---\nkind: Secret\nstringData:\n  pw: \"«hunter22»\"\n",
		`{"kind": "Secret", "data": {"user": "«YWRtaW4=»", "pw": "«aHVudGVyMg==»"}, "type": "Opaque"}`,
		`"kind: Secret\ndata:\n  user: «YWRtaW4=»\n  pw: «aHVudGVyMg==»\n"`,
		"kind: SecretList", "kind: ConfigMap\ndata:\n  a: YWRtaW4=\n",
	} {
		gone(t, marked)
	}
}

// TestShapes: SEC-07, by shape and not by name.
func TestShapes(t *testing.T) {
	for i, token := range []string{
		"gh" + "p_" + random(60, 36, alnum), "gh" + "o_" + random(61, 36, alnum), "gh" + "u_" + random(62, 36, alnum), "gh" + "s_" + random(63, 36, alnum),
		"gh" + "r_" + random(64, 36, alnum), "github" + "_pat_" + random(65, 22, alnum) + "_" + random(66, 59, alnum),
		"AK" + "IA" + random(67, 16, capitals+"234567"), "AS" + "IA" + random(68, 16, capitals+"234567"),
		"sk" + "-" + random(69, 48, alnum), "sk" + "-proj-" + random(70, 120, alnum+"_-"), "sk" + "-ant-api03-" + random(71, 93, alnum+"_-") + "AA",
		"sk" + "-ant-oat01-" + random(72, 60, alnum+"_-"), "sk" + "-or-v1-" + random(73, 64, hex), "sk" + "_live_" + random(74, 24, alnum), "rk" + "_live_" + random(75, 24, alnum),
		"xox" + "b-" + random(76, 12, digits) + "-" + random(77, 12, digits) + "-" + random(78, 24, alnum),
		"xox" + "p-" + random(79, 12, digits) + "-" + random(80, 12, digits) + "-" + random(81, 12, digits) + "-" + random(82, 32, hex),
		"AI" + "za" + random(83, 35, alnum+"_-"), "gl" + "pat-" + random(84, 20, alnum), "np" + "m_" + random(85, 36, alnum), "hf" + "_" + random(86, 34, lower+"0"),
		"SG" + "." + random(87, 22, alnum) + "." + random(88, 43, alnum), "dckr" + "_pat_" + random(89, 27, alnum), "pypi" + "-AgEIcHlwaS5vcmc" + random(90, 80, alnum),
		"ya29" + "." + random(91, 60, alnum), "gsk" + "_" + random(92, 52, alnum), "xa" + "i-" + random(93, 80, alnum), "whsec" + "_" + random(94, 32, alnum),
	} {
		for _, format := range []string{"%s", "value: %s", "value: %s\n", "(%s)", "\"%s\"", `\"%s\"`, "<%s>", "token %s, and more", "`%s`.", "a=%s;b", "[%s]", `x\n%s\ny`, "|%s|", "é%sé", `<\u003e%s`, "\x1b[1;32m%s\x1b[0m"} {
			text := fmt.Sprintf(format, token)
			if out, n := Redact(text); n != 1 || strings.Contains(out, token[len(token)/2:]) {
				t.Errorf("%d: %s has become %s", i, text, out)
			}
			want := strings.NewReplacer("%s", "*").Replace(format)
			out, _ := Redact(text)
			if got := regexp.MustCompile(`\[redacted: [a-z0-9-]+\]`).ReplaceAllString(out, "*"); got != want {
				t.Errorf("%d: %s has become %s, want %s", i, text, got, want)
			}
		}
	}
	for _, text := range []string{
		"gh" + "p_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "sk" + "-learn-contrib-project-template-name", "task" + "-" + random(95, 48, alnum), "sk" + "-ant-...",
		"AKIA, ASIA", "npm" + "_config_cache_directory_location_path", "pypi" + "-publish-action",
	} {
		gone(t, text)
	}
}

// TestEveryRule: every rule of gitleaks finds samples of its own regular expression.
func TestEveryRule(t *testing.T) {
	k := known()
	if len(k.rules) < 200 {
		t.Fatalf("only %d rules", len(k.rules))
	}
	for i, r := range k.rules {
		rng := rand.New(rand.NewPCG(uint64(i), 5))
		fired, first := 0, ""
		for range 40 {
			text := strings.Join(r.Gate, " ") + "\n" + secretstest.Sample(rng, samples.trees[i]) + "\n"
			if r.After != "" {
				text = r.After + " " + text
			}
			x := search{knowledge: k, text: text, lineStop: -1}
			x.parts((*search).run)
			x.parts((*search).runGated)
			for _, s := range x.spans {
				if s.id == r.ID {
					fired++
					break
				}
			}
			if first == "" && fired == 0 {
				first = text
			}
		}
		if fired == 0 {
			t.Errorf("rule %s finds none of 40 samples, such as %q", r.ID, first)
		}
	}
}

// TestRules: the data is what the search takes it for.
func TestRules(t *testing.T) {
	k := known()
	ids := map[string]bool{}
	check := func(id string) {
		if ids[id] && id != idJWT && id != "generic-api-key" { // of gitleaks and of us; and one in two
			t.Errorf("two rules %s", id)
		}
		ids[id] = true
		if len(id) > longestID || !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(id) {
			t.Errorf("%q cannot stand in a marker", id)
		}
	}
	for _, id := range ourIDs {
		check(id)
	}
	for _, r := range k.rules {
		check(r.ID)
		c := r.compiled()
		if (len(r.Anchors) == 0) != (len(r.Gate) > 0) {
			t.Errorf("rule %s has anchors %q and gates %q", r.ID, r.Anchors, r.Gate)
		}
		if r.Assign && (c.value.least < 8 || c.value.most < c.value.least) {
			t.Errorf("rule %s has values of %d to %d", r.ID, c.value.least, c.value.most)
		}
		if r.Assign {
			for _, b := range "`'\" \t\n;\\" {
				if c.value.bytes.has(byte(b)) {
					t.Errorf("a value of rule %s may have %q, which ends it", r.ID, b)
				}
			}
		}
		if r.Back == 0 && len(c.start) == 0 {
			t.Errorf("rule %s may begin with anything", r.ID)
		}
		lists := 0
		for _, a := range r.Allow {
			if a.Target == "line" {
				lists++
			}
			for _, w := range a.StopWords {
				if len(w) < 3 || strings.ToLower(w) != w {
					t.Errorf("rule %s has the stop word %q", r.ID, w)
				}
			}
		}
		if lists > 1 {
			t.Errorf("rule %s has %d lists for lines", r.ID, lists)
		}
	}
	licence, err := gitleaks.ReadFile("gitleaks/LICENSE")
	if err != nil || !strings.HasPrefix(string(licence), "MIT License") {
		t.Errorf("the licence is %.40q, %v", licence, err)
	}
}

// TestFolded: two letters are ASCII where case does not count, and a name may be written with them.
func TestFolded(t *testing.T) {
	secret := random(130, 32, hex)
	for _, name := range []string{"app_key", "app_" + kelvin + "ey", "to" + kelvin + "en", longS + "ecret", "acce" + longS + longS, "pa" + longS + "sword"} {
		for _, around := range []string{"", "x", kelvin, longS, strings.Repeat("é", 100)} {
			gone(t, around+"\n"+name+" = \"«"+secret+"»\"\n"+around)
		}
	}
}

// TestPoisonPill: SEC-01, a secret in a text fails nothing, whatever the text is.
func TestPoisonPill(t *testing.T) {
	key := "AK" + "IA" + random(100, 16, capitals+"234567")
	for _, text := range []string{key, "my key is " + key + ", keep it", strings.Repeat(key+"\n", 1000), "\xff" + key + "\x00", "{" + key, key + " gitleaks:allow"} {
		out, n := Redact(text)
		if n == 0 || strings.Contains(out, key) {
			t.Errorf("%.60q has become %.60q", text, out)
		}
	}
}

func TestMarkers(t *testing.T) {
	for id := range known().ids {
		marker := markerStart + id + markerEnd
		for _, text := range []string{
			marker, "password=" + marker, "\"password\": \"" + marker + "\"", "http://u:" + marker + "@h", "cu" + "rl -u u:" + marker + " h", "Authorization: Bearer " + marker,
			"Cookie: a=" + marker, dashes + "BEGIN PRIVATE KEY" + dashes + "\n" + marker, marker + marker, id + "=" + marker, marker + "=" + marker,
		} {
			if out, n := Redact(text); n != 0 || out != text {
				t.Errorf("%q has become %q", text, out)
			}
		}
	}
	// What only looks like a marker hides nothing.
	for text, want := range map[string]string{
		"[redacted: nothing] DB_PASSWORD=hunter2 [redacted: ":            "[redacted: nothing] DB_PASSWORD=[redacted: assigned-secret] [redacted: ",
		"DB_PASSWORD=hunter2 [redacted: " + random(101, 40, hex) + "]":   "DB_PASSWORD=[redacted: assigned-secret] [redacted: " + random(101, 40, hex) + "]",
		"[redacted: jwt] DB_PASSWORD=hunter2 [redacted: jwt]":            "[redacted: jwt] DB_PASSWORD=[redacted: assigned-secret] [redacted: jwt]",
		"[redacted: jwt]\nDB_PASSWORD=hunter2\n[redacted: jwt]":          "[redacted: jwt]\nDB_PASSWORD=[redacted: assigned-secret]\n[redacted: jwt]",
		"[redacted: [redacted: jwt]] gitleaks:allow DB_PASSWORD=hunter2": "[redacted: [redacted: jwt]] gitleaks:allow DB_PASSWORD=[redacted: assigned-secret]",
	} {
		if out, _ := Redact(text); out != want {
			t.Errorf("%q has become %q, want %q", text, out, want)
		}
	}
}

// TestOneOfMany: the most telling rule names a secret that several find.
func TestOneOfMany(t *testing.T) {
	token := "gh" + "p_" + random(110, 36, alnum)
	if out, n := Redact("GITHUB_TOKEN=" + token); n != 1 || out != "GITHUB_TOKEN=[redacted: github-pat]" {
		t.Errorf("got %q, %d", out, n)
	}
}

// TestClean: a text without secrets comes back without an allocation.
func TestClean(t *testing.T) {
	text := sources(t, 1<<20)[0].text
	text = strings.Join(strings.SplitAfter(text, "\n")[:2000], "")
	if _, n := Redact(text); n != 0 {
		t.Fatalf("%d secrets in it", n)
	}
	if n := testing.AllocsPerRun(10, func() { Redact(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// source is a text to measure with.
type source struct{ name, text string }

// sources reads source code, JSON and prose, about size bytes of each.
func sources(t testing.TB, size int) []source {
	t.Helper()
	read := func(root string, suffixes ...string) string {
		var b strings.Builder
		err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() || b.Len() > size {
				return err
			}
			for _, s := range suffixes {
				if strings.HasSuffix(path, s) {
					data, err := os.ReadFile(path)
					if err != nil {
						return err
					}
					b.Write(data[:min(len(data), 200_000)])
				}
			}
			return nil
		})
		if err != nil || b.Len() == 0 {
			t.Skipf("nothing to read in %s: %v", root, err)
		}
		return b.String()
	}
	root := filepath.Join(build.Default.GOROOT, "src")
	repo := read("../..", ".go")
	code := read(filepath.Join(root, "net"), ".go")
	json := read(filepath.Join(root, "crypto"), ".json") + read("../../examples", ".jsonl", ".json")
	prose := read("../../docs", ".md") + read(root, ".md", "README", ".txt")
	return []source{{"repository", repo}, {"code", code}, {"json", json}, {"prose", prose}}
}

// TestSourceCodeStays: what finds names and values leaves ordinary source code as it is. Go's own is full of tokens,
// keys and passwords, and what is found there are the made up secrets of its tests.
func TestSourceCodeStays(t *testing.T) {
	lines, found := 0, 0
	for _, dir := range []string{"cmd/compile", "cmd/go", "encoding", "go", "net", "text"} {
		root := filepath.Join(build.Default.GOROOT, "src", filepath.FromSlash(dir))
		err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			lines += strings.Count(string(data), "\n")
			for _, s := range find(string(data)) {
				found++
				t.Logf("%s: %s: %q", path, s.id, data[max(0, s.start-40):s.end])
			}
			return nil
		})
		if err != nil {
			t.Skipf("no source code to read: %v", err)
		}
	}
	if found*100_000 > lines {
		t.Errorf("%d secrets in %d lines, which is more than one in 100,000", found, lines)
	}
}
