/** `pnpm pack-packages <folder>`: packs the packages as they would be published, for an application outside of this repository. */
import { packPackages } from './packed-packages.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('Name the folder for the tarballs: pnpm pack-packages ../tarballs');
const tarballs = packPackages(folder);
console.log(`Packed ${tarballs.size} packages into ${folder}`);
