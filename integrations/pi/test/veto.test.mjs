// HOOK-01 in real pi: where a hook of the person's says no, pi makes no compaction either.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { extension, fake, packages, start, version } from "./harness.mjs";

for (const folder of packages) {
	describe(`a veto in pi ${version(folder)}`, () => {
		test("nothing is compacted, no model is asked, and the session goes on", async (t) => {
			const notices = [{ level: "info", text: "a release is going on" }];
			const sidecar = fake(t, { hello: { protocol: 1 }, compact: { veto: "a release is going on", notices } });
			const pi = await start(t, folder, { extensions: [extension], env: sidecar.env });
			await pi.prompt("first question");
			await pi.prompt("second question");
			const answer = await pi.send("compact");
			assert.equal(answer.success, false);
			assert.match(answer.error, /cancel/i);
			await pi.notice("a release is going on");
			await pi.prompt("third question");
			await pi.close();
			assert.equal(sidecar.events("compact").length, 1);
			assert.equal(pi.requests.length, 3); // a turn each, and no summary
			assert.deepEqual(pi.session().filter((line) => line.type === "compaction"), []);
			assert.deepEqual(sidecar.events("compacted"), []);
			assert.deepEqual(pi.events.filter((event) => event.type === "extension_error"), []);
		});
	});
}
