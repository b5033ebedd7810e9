/** Outside a git work tree there is nothing to compare with; inside one, a check leaves no trace. */
import { execFileSync } from 'node:child_process';

const changed = gitStatus();
if (changed !== '') console.error(`Changed or not ignored:\n${changed}`);
// Local changes of a developer are allowed; CI starts from a clean clone.
process.exitCode = changed === '' || process.env['CI'] === undefined ? 0 : 1;

function gitStatus(): string {
  try {
    return execFileSync('git', ['status', '--porcelain'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '';
  }
}
