// The dashboard's types and list of routes are those of the server.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'node:test';
import { stage } from './support/stage.mjs';

describe('types', () => {
  const here = stage();
  it('web/src/api/types.ts is up to date', () => {
    const script = fileURLToPath(new URL('../../web/tools/api-types.mjs', import.meta.url));
    const check = spawnSync(process.execPath, [script, here.url, '--check'], { encoding: 'utf8' });
    assert.equal(check.status, 0, check.stderr);
  });
});
