// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Files that speedscope is to open, in speedscope's own page: speedscope.mjs FILE...
// Run by tests/cli/stacks-export.sh, which made them.
import {check, checkMatch, run} from './pages.mjs';
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const home = path.join(path.dirname(fileURLToPath(import.meta.url)), 'node_modules/speedscope/dist/release');

/* As speedscope's own command does: the page loads a script that hands it the profile. */
function wrap(file) {
	const script = path.resolve(file + '.js'), data = fs.readFileSync(file).toString('base64');
	fs.writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(path.basename(file))}, "${data}")`);
	return script;
}

run(async open => {
	for (const file of process.argv.slice(2)) {
		const page = await open(path.join(home, 'index.html'), {
			fragment: `#localProfilePath=${wrap(file)}&view=sandwich`});
		await page.waitForFunction(() => /leaf/.test(document.body.innerText), null, {timeout: 30000})
			.catch(() => {});
		const text = await page.innerText('body');
		/* Of pprof's inlined functions it shows the outermost alone. */
		checkMatch(`${file}: its functions are in the table`, text, file.endsWith('.json') ?
			/106\.00ms \(66%\)\s+small/ : /106\.00ms \(66%\)\s+leaf/);
		checkMatch(`${file}: with their times`, text, /156\.00ms \(98%\)\s+50\.00ms \(31%\)\s+one/);
		const errors = page.errors.filter(error => !/GL Driver Message/.test(error)); /* no GPU here */
		check(`${file}: no error`, !errors.length, errors.join('\n'));
		await page.close();
	}
});
