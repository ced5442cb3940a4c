package secrets

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/pemmican-dev/pemmican/internal/formattest"
)

// made puts secrets that are made at run time in the place of %p, %t and %h.
func made(text string) string {
	return strings.NewReplacer("%p", "Hunt"+"3rTwo9", "%t", random(400, 36, alnum), "%h", random(401, 64, hex)).Replace(text)
}

// TestPlaces: the value of a name stands in many places, and with many names.
func TestPlaces(t *testing.T) {
	for _, marked := range []string{
		// pairs
		"- name: DB_PASSWORD\n  value: «%p»\n",
		"- name: DB_PASSWORD\n  value: \"«%p»\"\n- name: PORT\n  value: \"5432\"\n",
		"env:\r\n  - name: API_TOKEN\r\n    value: «%t»\r\n",
		`{"name":"X-Api-Key","value":"«%t»"}`,
		`{"name": "DB_PASSWORD", "value": "«%p»"}`,
		"{\n  \"key\": \"password\",\n  \"value\": \"«%p»\"\n}",
		`{\"key\":\"password\",\"value\":\"«%p»\"}`,
		`{"ParameterKey": "DbPassword", "ParameterValue": "«%p»"}`,
		`"- name: DB_PASSWORD\n  value: «%p»\n"`,
		`<add key="Password" value="«%p»"/>`,
		`<property name='db.password' value='«%p»'/>`,
		`<property><name>db.password</name><value>«%p»</value></property>`,
		`&lt;name&gt;db.password&lt;/name&gt;&lt;value&gt;«%p»&lt;/value&gt;`,
		"variable {\n  name = \"DB_PASSWORD\"\n  value = \"«%p»\"\n}",
		// Markdown
		"**Password:** «%p»", "**Password**: «%p»", "- **Password:** `«%p»`", "__Password:__ «%p»", "* Password: «%p»", "Password: **«%p»**", "**API key:** «%t»",
		"Password: `«%p»`", "| Password | «%p» |", "| **Password** | `«%p»` |", "|Password|«%p»|",
		"| Service | User | Password |\n|---|:--|---:|\n| a | bob | «%p» |\n| b | eve | `«%p»` |\n\nand | more | %p |",
		// sentences
		"The password is «%p».", "the password is \"«%p»\", and the port is 22", "The passphrase is «%p»\n", "Its password was `«%p»` before.",
		"the password for bob is `«%p»`", "The password of the user bob on host1 is «%p».", "password «%p»", "the API key is «%t».", "the token is «%t», I think",
		"Das Passwort ist «%p»", "Das Passwort lautet «%p».", "le mot de passe est «%p»", "密码是：«%p»。", "The password is «hunter22».",
		// names
		"pwd: «%p»", "pass: «%p»", `"pass": "«%p»"`, `"pw": "«%p»"`, "smtp.pass=«%p»", `{"dbPass":"«%p»"}`, "keytool -storepass «%p» -list", "openssl rsa -passin pass:«%p»",
		"Passwort: «%p»", "Datenbankpasswort: «%p»", "Kennwort=«%p»", "mot de passe : «%p»", "Mot de passe: «%p»", "contraseña: «%p»", "Contraseña: «%p»", "senha: «%p»",
		"пароль: «%p»", "Пароль: «%p»", "密码：«%p»。", "密碼: «%p»", "数据库密码：«%p»，端口：22", "パスワード: «%p»", "비밀번호: «%p»", "password：«%p»",
		// commands
		`{"args":["--password","«%p»"]}`, `["mysql", "-u", "root", "--password", "«%p»"]`, `[\"--password\", \"«%p»\"]`, "args: ['--password', '«%p»']",
		"args:\n- --password\n- «%p»\n- --verbose\n", "mysql --user=root --password «%p»", "tool --token=«%t»",
		"mysql -u root -p«%p» db", "mysqldump -u root -p'«%p»' db > x", `{"cmd":"mysql -p\"«%p»\" db"}`, `["mysql","-uroot","-p«%p»","db"]`, "mysql -u root \\\n  -p«%p» db",
		"sshpass -p «%p» ssh root@host", "sshpass -p '«%p»' ssh root@host", "sshpass -p\"«%p»\" ssh root@host", `["sshpass","-p","«%p»","ssh"]`,
		"redis-cli -h cache -a «%p» ping", "docker login -u bob -p «%p» registry.example.org", "ldapsearch -x -D cn=a -w «%p» -b dc=b", "mongodump -u bob -p «%p»",
		`["curl","-u","bob:«%p»","https://h.example.org"]`, "curl -u «bob:%p» https://h.example.org",
		"echo «%p» | sudo -S ls", "echo '«%p»' | sudo -S ls", "echo 'bob:«%p»' | chpasswd", "echo -n «%p» | docker login -u bob --password-stdin",
		// markup and escapes
		"<password>«%p»</password>", "<ns:password>«%p»</ns:password>", "&lt;password&gt;«%p»&lt;/password&gt;", `\u003cpassword\u003e«%p»\u003c/password\u003e`,
		`\u0022password\u0022:\u0022«%p»\u0022`, `\\u0022password\\u0022:\\u0022«%p»\\u0022`, `{&quot;password&quot;:&quot;«%p»&quot;, &quot;a&quot;:1}`, `&#34;password&#34;: &#34;«%p»&#34;`,
		// URLs
		"git clone https://«%t»@github.com/x/y", "postgres://bob:«pa/s5»@db/app",
		"https://x.blob.core.windows.net/c?sv=2020&sig=«%t%2B%t%3D»", "https://b.s3.amazonaws.com/o?X-Amz-Signature=«%h»&x=1", "https://b.example.org/o?a=b&amp;sig=«%h»",
		`https://b.example.org/o?a=b\u0026Signature=«%t»`, "https://x.org/cb?code=«4/0%t»&state=1",
		"https://api.telegram.org/bot123456789:«%t»/getMe", "https://discord.com/api/webhooks/123456789012345678/«%h»",
		// files
		"machine ftp.example.org login bob password «%p»", "machine ftp.example.org\n  login bob\n  password «simple»\n", "db.example.org:5432:app:bob:«%p»\n", "*:*:*:bob:«%p»", "localhost:5432:*:bob:«%p»",
		"root:«$6$abcdefgh$%t/%h»:19000:0:99999:7:::",
		"mnemonic: «abandon ability able about above absent absorb abstract absurd abuse access accident»",
		// passphrases
		`"password": "«correct horse battery staple 9»"`, `password: '«correct horse battery staple»'`, `{\"passphrase\":\"«correct horse 9 staple»\"}`,
	} {
		gone(t, made(marked))
		// What holds for every text holds for it when it is cut anywhere, or has a marker there.
		text := strings.NewReplacer("«", "", "»", "").Replace(made(marked))
		for i := range len(text) {
			check(t, text[:i])
			check(t, text[i:])
			check(t, text[:i]+"[redacted: jwt]"+text[i:])
		}
	}

	// What stands beside the identifier of a key.
	id, key := "AK"+"IA"+random(402, 16, capitals+"234567"), random(403, 40, alnum+"/+")
	for _, sep := range []string{" ", ",", "\n", "\": \""} {
		gone(t, "«"+id+"»"+sep+"«"+key+"»\n")
	}
}

// TestNoPlaces: names of algorithms, files and variables are no secrets, nor are words in a sentence, nor texts for people.
func TestNoPlaces(t *testing.T) {
	for _, text := range []string{
		"token: JWT_v2", "secret: HMAC-SHA256", "password: bcrypt$2 in schema.sql", "encryption_key: AES-256-GCM", "secret: PBKDF2", "Password: base64-encoded",
		"csrf_token: src/csrf2.ts", "authorization: src/auth/authorize2.ts", "secret_manager_v2: projects/x/secrets/y/versions/1", "--secret=projects/p1/secrets/s2/versions/3",
		"token: session_store_v2", "token: RotateToken2", "**Token:** RotateToken2", "| token | RotateToken2 |", "`token`: rotated in v2.1", "| Password | bcrypt, cost 12 |",
		"The password is required.", "the password is case-sensitive", "The password is hashed with SHA-256.", "the password is in config2.yaml", "The password is 12 characters long",
		"the password is stored as PBKDF2-SHA512", "password is getPassword(user2)", "the token is RotateToken2", "the token is 32 bytes", "the secret is app-secret-v2",
		"password reset: done in src/auth/reset2.ts", "password v2alpha1", "The password for PRT-118 is wrong", "password123 is in the tests", "the password is password123",
		"PASS: TestRotate2", "--- PASS: TestRotate2 (0.00s)", "PASS: gcc.dg/pr12345.c", "pass: 120 fail: 3", "pass 1a of 2b", "pwd: /home/bob2/x", "PWD=/home/bob2/x", "pass = pass1", "you can pass v1beta3.Foo2 to it",
		"parser.add_argument('--password', help=\"the password 1\")", "parser.add_argument('--password', 'dest')", "[\"--password\", \"--body\"]", "'--set-secrets', '--update-secrets'", "the flag \"--random-password\" will be required", "'--shared-secret requires a value'",
		"- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db2", "- name: DB_PASSWORD\n  value: $(DB_PASSWORD)", `{"name":"max_tokens","value":"8192"}`, `{"key":"token","value":"${TOKEN1}"}`,
		`{"name":"password","type":"string","value":""}`, "<password>${db.password}</password>", "<password>********</password>", "regexp.MustCompile(`<password>(.+?)</password>`)", "<token>eof</token>",
		"Passwort: mind. 12", "password: min. 12 chars", "пароль: не задан", "密码：至少12位", "desenhar: abc1234", "compass: Test1234a", "bypass = \"Test1234a\"",
		"docker run --name mysql -p3306:3306 mysql:8", "mysql -p db1", "mkdir -p mysql1", "['mysql', '-p', 'db1']", "mysql -p$DB_PW db", "sshpass -p \"$PW1\" ssh h", "sshpass -e ssh host1", "redis-cli -a ${PW1}",
		"echo $PW1 | sudo -S ls", "sudo -s", "make test1 | sudo -S tee log1",
		"https://user@host/path", "https://user_name_2024@host/x", "ssh://git@github.com:22/x", "http://localhost:3000/@vite/client", "https://example.org:8443/a@b", "postgres://localhost:5432/app@2",
		"https://x.org/?code=404", "status code=0123456789abcdef0123", "https://x.org/?code=INVALID_GRANT_TYPE_2", "\"http://h/?signature=\" + signature1",
		"fromWildcard('*:*:*:*:*:*:*:*')", "127.0.0.1:5432:5432", "awk '{print $6$7}'", "mnemonic: \"mov\"", "the mnemonic for an instruction that moves data between two places",
		`"password": "Enter your password"`, `"password": "Please enter the new password"`, `"password": "Password must have 8 characters"`, `"password": "At least 8 characters"`, `password: 'Confirm new password'`,
		`"password": "Ihr neues Passwort"`, `"password": "entrez votre mot de passe"`, `"passwordHint": "correct horse battery staple"`, `"secret": "a secret that nobody knows"`, `"password": "Use 8 or more letters"`,
		"login with a password and a machine", "machine learning, and a login password policy",
	} {
		if out, n := Redact(text); n != 0 || out != text {
			t.Errorf("%s\nhas become %s", text, out)
		}
	}
}

// TestTranscriptsStay: what is found in real sessions is nothing but what their authors have called a secret, for
// want of a real one.
func TestTranscriptsStay(t *testing.T) {
	allowed := regexp.MustCompile(`^(test-secret-key|deadbeef)$`)
	strs, size := 0, 0
	var walk func(name string, v any)
	walk = func(name string, v any) {
		switch v := v.(type) {
		case string:
			strs++
			size += len(v)
			for _, s := range find(v) {
				if !allowed.MatchString(v[s.start:s.end]) {
					t.Errorf("%s: %s in %q", name, s.id, v[max(0, s.start-40):min(len(v), s.end+20)])
				}
			}
		case []any:
			for _, e := range v {
				walk(name, e)
			}
		case map[string]any:
			for _, e := range v {
				walk(name, e)
			}
		}
	}
	for _, in := range formattest.Corpus(t, "corpus/*/*", "corpus/*/*/*", "clients/*/*", "clients/*/*/*") {
		// A document of JSON, lines of JSON, or text.
		parts := []string{string(in.Data)}
		if !json.Valid(in.Data) {
			parts = strings.SplitAfter(parts[0], "\n")
		}
		for _, part := range parts {
			var v any
			if json.Unmarshal([]byte(part), &v) != nil {
				v = part
			}
			walk(in.Name, v)
		}
	}
	if strs < 1000 || size < 1<<20 {
		t.Errorf("only %d texts of %d bytes", strs, size)
	}
}

// TestLooks: what tells a secret from a name.
func TestLooks(t *testing.T) {
	for _, c := range []struct {
		text            string
		named, fair     bool
		strong          bool
		algorithm, file bool
	}{
		{text: "Hunt3rTwo9", fair: true, strong: true},
		{text: "hunter22", fair: true},
		{text: "P@ssw0rd!", fair: true, strong: true},
		{text: "hunter"},
		{text: "RotateToken2", named: true},
		{text: "session_store_v2", named: true},
		{text: "PRT-118", named: true},
		{text: "v2.1.3", named: true},
		{text: "12-character", named: true},
		{text: "bob@example.org", named: true},
		{text: "HMAC-SHA256", named: true, algorithm: true},
		{text: "AES-256-GCM", named: true, algorithm: true},
		{text: "JWT_v2", named: true, algorithm: true},
		{text: "bcrypt", named: true, algorithm: true},
		{text: "src/auth/authorize2.ts", named: true, file: true},
		{text: "config2.yaml", named: true, file: true},
		{text: random(404, 13, alnum) + "/" + random(405, 7, alnum) + "/" + random(406, 18, alnum), fair: true, strong: true},
	} {
		if got := isNamed(c.text); got != c.named {
			t.Errorf("%q is named: %v", c.text, got)
		}
		if got := fair(c.text); got != c.fair {
			t.Errorf("%q is fair: %v", c.text, got)
		}
		if got := strong(c.text); got != c.strong {
			t.Errorf("%q is strong: %v", c.text, got)
		}
		if got := isAlgorithm(c.text); got != c.algorithm {
			t.Errorf("%q is an algorithm: %v", c.text, got)
		}
		if got := isFile(c.text); got != c.file {
			t.Errorf("%q is a file: %v", c.text, got)
		}
	}
}
