import { type Fleet, slicesOf } from '../fleet/Fleet';

/** A GPU that has MIG instances is drawn as so many columns and rows. */
export const SPLIT_COLUMNS = 7;
export const SPLIT_ROWS = 4;

/** Where MIG instances are within their GPU. */
export interface SlicePlaces {
  /** GPUs that are drawn split. */
  split: Int32Array;
  /** Of each cell that is a MIG instance, the first column and the one after the last; 0 and 0 when it is not drawn. */
  from: Uint8Array;
  to: Uint8Array;
  /** Whether the first row of a split GPU is the GPU's own: some source has values of the board beside its instances'. */
  own: Uint8Array;
}

export function placeSlices(fleet: Fleet, drawn: boolean): SlicePlaces {
  const from = new Uint8Array(fleet.count);
  const to = new Uint8Array(fleet.count);
  const own = new Uint8Array(fleet.count);
  const split: number[] = [];
  for (let gpu = 0; drawn && gpu < fleet.count; gpu++) {
    const slices = slicesOf(fleet, gpu);
    if (slices.length === 0) {
      continue;
    }
    split.push(gpu);
    own[gpu] = Number(fleet.sources.some(({ rows }) => rows[gpu] >= 0));
    const shares = Array.from(slices, (slice) => sharesOf(fleet.texts.mig_profile[slice]));
    // Instances of one GPU instance, or of a profile that is not known, may add up to more than the board.
    const total = Math.max(
      SPLIT_COLUMNS,
      shares.reduce((sum, share) => sum + share, 0)
    );
    let before = 0;
    shares.forEach((share, i) => {
      from[slices[i]] = Math.min(SPLIT_COLUMNS - 1, Math.floor((before * SPLIT_COLUMNS) / total));
      before += share;
      to[slices[i]] = Math.max(from[slices[i]] + 1, Math.round((before * SPLIT_COLUMNS) / total));
    });
  }
  return { split: Int32Array.from(split), from, to, own };
}

/** How many of a board's seven compute slices a profile has: 3 of "3g.40gb", 1 of "1c.3g.40gb". */
function sharesOf(profile: string): number {
  const found = /^(\d)[cg]\./.exec(profile);
  return found ? Math.max(1, Number(found[1])) : 1;
}
