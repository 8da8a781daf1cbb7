import { DIMENSION_NAMES, type Dimension, type Fleet, type Identity, type Source } from './Fleet';

const NO_MIG = { mig_id: '', compute_instance: '', mig_profile: '', job: '', namespace: '', user: '' } as const;

/** Collects cells, each once, in the order in which they are first named. */
export class FleetBuilder {
  private readonly index = new Map<string, number>();
  private readonly texts = Object.fromEntries(DIMENSION_NAMES.map((name) => [name, []])) as unknown as Record<
    Dimension,
    string[]
  >;
  private readonly parents: number[] = [];

  /** The cell of an identity; -1 when it names no GPU, as rows of whole nodes do. */
  add(identity: Identity): number {
    const board = identity.gpu_uuid || identity.gpu;
    if (board === '') {
      return -1;
    }
    const key = [identity.cluster, identity.node, board, identity.mig_id, identity.compute_instance].join('\n');
    const known = this.index.get(key);
    if (known !== undefined) {
      this.complete(known, identity);
      return known;
    }
    const parent = identity.mig_id === '' ? -1 : this.add({ ...identity, ...NO_MIG });
    const cell = this.parents.push(parent) - 1;
    this.index.set(key, cell);
    for (const name of DIMENSION_NAMES) {
      this.texts[name].push(identity[name]);
    }
    return cell;
  }

  /** A later source may know more of a cell. */
  private complete(cell: number, identity: Identity) {
    for (const name of DIMENSION_NAMES) {
      this.texts[name][cell] ||= identity[name];
    }
  }

  /** The fleet, from the cell of each row of each source. */
  build(sources: Array<Omit<Source, 'rows'> & { cells: Int32Array }>): Fleet {
    const count = this.parents.length;
    const parent = Int32Array.from(this.parents);
    return {
      count,
      texts: this.texts,
      parent,
      ...nest(parent),
      sources: sources.map(({ cells, ...source }) => ({ ...source, rows: invert(cells, count) })),
      index: this.index,
    };
  }
}

function nest(parent: Int32Array): Pick<Fleet, 'sliceStart' | 'slices'> {
  const sliceStart = new Int32Array(parent.length + 1);
  for (const gpu of parent) {
    if (gpu >= 0) {
      sliceStart[gpu + 1]++;
    }
  }
  for (let i = 0; i < parent.length; i++) {
    sliceStart[i + 1] += sliceStart[i];
  }
  const next = sliceStart.slice();
  const slices = new Int32Array(sliceStart[parent.length]);
  parent.forEach((gpu, cell) => {
    if (gpu >= 0) {
      slices[next[gpu]++] = cell;
    }
  });
  return { sliceStart, slices };
}

function invert(cells: Int32Array, count: number): Int32Array {
  const rows = new Int32Array(count).fill(-1);
  cells.forEach((cell, row) => {
    if (cell >= 0) {
      rows[cell] = row;
    }
  });
  return rows;
}
