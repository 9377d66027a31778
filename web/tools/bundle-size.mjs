// Fails if the files that a browser loads are larger than the limit, compressed.
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const limit = 250_000;
const dist = fileURLToPath(new URL('../dist', import.meta.url));
const files = readdirSync(dist, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
const sizes = files.map((entry) => gzipSync(readFileSync(path.join(entry.path ?? entry.parentPath, entry.name)), { level: 9 }).length);
const total = sizes.reduce((sum, size) => sum + size, 0);
console.log(`dashboard: ${(total / 1000).toFixed(1)} kB compressed in ${files.length} files, limit ${limit / 1000} kB`);
if (files.length === 0 || total > limit) process.exit(1);
