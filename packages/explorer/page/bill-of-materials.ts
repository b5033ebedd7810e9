import { execFileSync } from 'node:child_process';

interface Component {
  readonly name: string;
  readonly version: string;
  readonly 'bom-ref': string;
}

/** What is read of a CycloneDX document. */
export interface BillOfMaterials {
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/**
 * Reads the bill of materials of the explorer from the lockfile, with the packages that the bundle contains. Those are development dependencies,
 * because nobody installs them. So `pnpm sbom --prod` leaves them out, and their entries come from the bill of all dependencies.
 */
export function readBillOfMaterials(bundled: readonly string[]): BillOfMaterials {
  const bill = readBill('--prod');
  const added = readBill().components.filter(({ name }) => bundled.includes(name));
  return {
    ...bill,
    components: [...bill.components, ...added],
    dependencies: bill.dependencies.map(({ ref, dependsOn }) => ({
      ref,
      dependsOn: isExplorer(ref) ? [...dependsOn, ...added.map((component) => component['bom-ref'])] : dependsOn,
    })),
  };
}

function isExplorer(ref: string): boolean {
  return ref.startsWith('pkg:npm/%40viewset/explorer@');
}

function readBill(...flags: readonly string[]): BillOfMaterials {
  const command = ['--filter', '@viewset/explorer', 'sbom', '--exclude-peers', '--sbom-format', 'cyclonedx', ...flags];
  return JSON.parse(execFileSync('pnpm', command, { encoding: 'utf8', maxBuffer: 2 ** 26 })) as BillOfMaterials;
}
