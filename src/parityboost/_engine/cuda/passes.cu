// A round's passes over the rows. Each kernel is the twin of the numba kernel of the same name in cpu.py (list_leaf: of
// list_side): what is summed are integers, and floats see the same operations in the same order per row.
//
// Rows are sorted by cell; blocks[b] = (cell, first row, last row + 1). A thread block takes one block of rows, unless
// it says otherwise. An empty mass (weighted = 0) means one each.

typedef unsigned char u8;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#define THREADS 256     // of a thread block that takes a block of rows
#define AT_ONCE 4       // rows per thread whose loads are on their way together
#define BUNDLES_AT_ONCE 3  // and bundles of these rows, for the histograms
#define HISTOGRAM_THREADS 512
#define LIST_CHUNK 128  // places of a list that a warp adds to the histograms at a time
#define N_CODES 256

__device__ __forceinline__ i64 whole(double weight) {
    i64 number = __double2ll_rn(weight);
    return number > 1 ? number : 1;
}

// The sum over the threads of a block, for the first thread.
__device__ __forceinline__ i64 block_sum(i64 value) {
    __shared__ i64 of_warp[32];
    for (int offset = 16; offset; offset >>= 1) value += __shfl_down_sync(0xffffffffu, value, offset);
    __syncthreads();  // of_warp may still be read from the last call
    if ((threadIdx.x & 31) == 0) of_warp[threadIdx.x >> 5] = value;
    __syncthreads();
    value = threadIdx.x < (blockDim.x >> 5) ? of_warp[threadIdx.x] : 0;
    if (threadIdx.x < 32)
        for (int offset = 16; offset; offset >>= 1) value += __shfl_down_sync(0xffffffffu, value, offset);
    return value;
}

__device__ __forceinline__ void add_to(i64* sum, i64 value) {
    if (value) atomicAdd((u64*)sum, (u64)value);
}

extern "C" __global__ void __launch_bounds__(THREADS)
move_margins(const u8* __restrict__ column, const double* __restrict__ step_of_code, i64 n_codes, double threshold,
             i64 kinds, double* __restrict__ margin, const i64* __restrict__ mass, i64 weighted,
             const i64* __restrict__ blocks, i64* positives) {
    __shared__ double step_of[N_CODES];
    for (int code = threadIdx.x; code < n_codes; code += THREADS) step_of[code] = step_of_code[code];
    __syncthreads();
    const i64 *block = blocks + 3 * (i64)blockIdx.x, start = block[1], stop = block[2];
    i64 above_zero = 0, above_threshold = 0, by_learner = 0;
    for (i64 first = start + threadIdx.x; first < stop; first += THREADS * AT_ONCE) {
        double moved[AT_ONCE], step[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            i64 i = first + k * THREADS;
            step[k] = i < stop ? step_of[column[i]] : 0.0;
            moved[k] = i < stop ? margin[i] : 0.0;
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            i64 i = first + k * THREADS;
            if (i < stop) {
                moved[k] += step[k];
                margin[i] = moved[k];
                i64 m = weighted ? mass[i] : 1;
                above_zero += moved[k] > 0.0 ? m : 0;
                above_threshold += moved[k] > threshold ? m : 0;
                by_learner += step[k] > 0.0 ? m : 0;
            }
        }
    }
    i64* counts = positives + 3 * block[0];
    above_zero = block_sum(above_zero);
    if (threadIdx.x == 0) add_to(counts, above_zero);
    if (kinds > 1) {  // else all that is asked for is the first kind
        above_threshold = block_sum(above_threshold);
        by_learner = block_sum(by_learner);
        if (threadIdx.x == 0) add_to(counts + 1, above_threshold), add_to(counts + 2, by_learner);
    }
}

// Where the threads of a block write what they list: a warp takes as many places as it has rows to list.
__device__ __forceinline__ i64 place_in_list(bool listed, u32* n_listed) {
    u32 lane = threadIdx.x & 31, mask = __ballot_sync(0xffffffffu, listed), base = 0;
    if (lane == 0 && mask) base = atomicAdd(n_listed, __popc(mask));
    return __shfl_sync(0xffffffffu, base, 0) + __popc(mask & ((1u << lane) - 1u));
}

extern "C" __global__ void __launch_bounds__(THREADS)
change_weights(const u8* __restrict__ column, const u8* __restrict__ leaf_of_code, i64 n_codes,
               const double* __restrict__ factors, i64 n_leaves, double* __restrict__ weights,
               const i64* __restrict__ mass, i64 weighted, const i64* __restrict__ blocks, u32* __restrict__ rows,
               i64* __restrict__ gains, i64* n_rows, i64* sums) {
    __shared__ double factor_of[N_CODES];
    __shared__ u32 n_listed;
    const i64 *block = blocks + 3 * (i64)blockIdx.x, start = block[1], stop = block[2];
    const double* of_cell = factors + block[0] * n_leaves;
    bool any = false;
    for (int leaf = 0; leaf < n_leaves; leaf++) any |= of_cell[leaf] != 1.0;
    if (!any) {
        if (threadIdx.x == 0) n_rows[blockIdx.x] = 0;
        return;
    }
    for (int code = threadIdx.x; code < n_codes; code += THREADS) factor_of[code] = of_cell[leaf_of_code[code]];
    if (threadIdx.x == 0) n_listed = 0;
    __syncthreads();
    i64 gained = 0;
    for (i64 base = start; base < stop; base += THREADS * AT_ONCE) {  // the same number of times in every thread
        double factor[AT_ONCE], before[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            i64 i = base + k * THREADS + threadIdx.x;
            factor[k] = i < stop ? factor_of[column[i]] : 1.0;
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            i64 i = base + k * THREADS + threadIdx.x;
            before[k] = factor[k] != 1.0 ? weights[i] : 0.0;
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            i64 i = base + k * THREADS + threadIdx.x;
            bool changes = factor[k] != 1.0;
            i64 place = start + place_in_list(changes, &n_listed);
            if (changes) {
                double after = before[k] * factor[k];
                weights[i] = after;
                i64 gain = whole(after) - whole(before[k]);
                if (weighted) gain *= mass[i];
                rows[place] = (u32)i;
                gains[place] = gain;
                gained += gain;
            }
        }
    }
    gained = block_sum(gained);
    if (threadIdx.x == 0) {
        n_rows[blockIdx.x] = n_listed;
        sums[blockIdx.x] += gained;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
list_everything(const double* __restrict__ weights, const i64* __restrict__ mass, i64 weighted,
                const i64* __restrict__ blocks, i64 n_groups, i64 classes, u32* __restrict__ rows,
                i64* __restrict__ gains, i64* n_rows, i64* sums) {
    const i64 *block = blocks + 3 * (i64)blockIdx.x, start = block[1], stop = block[2];
    if (!(classes >> (block[0] >= n_groups) & 1)) return;
    i64 total = 0;
    for (i64 i = start + threadIdx.x; i < stop; i += THREADS) {
        i64 gain = whole(weights[i]);
        if (weighted) gain *= mass[i];
        rows[i] = (u32)i;
        gains[i] = gain;
        total += gain;
    }
    total = block_sum(total);
    if (threadIdx.x == 0) n_rows[blockIdx.x] = stop - start, sums[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(THREADS)
list_masses(const i64* __restrict__ mass, i64 weighted, const i64* __restrict__ blocks, u32* __restrict__ rows,
            i64* __restrict__ gains, i64* n_rows) {
    const i64 *block = blocks + 3 * (i64)blockIdx.x, start = block[1], stop = block[2];
    for (i64 i = start + threadIdx.x; i < stop; i += THREADS) {
        rows[i] = (u32)i;
        gains[i] = weighted ? mass[i] : 1;
    }
    if (threadIdx.x == 0) n_rows[blockIdx.x] = stop - start;
}

extern "C" __global__ void __launch_bounds__(THREADS)
list_leaf(const u8* __restrict__ column, const u8* __restrict__ leaf_of_code, i64 n_codes, i64 leaf,
          const double* __restrict__ weights, const i64* __restrict__ mass, i64 weighted,
          const i64* __restrict__ blocks, u32* __restrict__ rows, i64* __restrict__ gains, i64* n_rows) {
    __shared__ u8 is_there[N_CODES];
    __shared__ u32 n_listed;
    for (int code = threadIdx.x; code < n_codes; code += THREADS) is_there[code] = leaf_of_code[code] == leaf;
    if (threadIdx.x == 0) n_listed = 0;
    __syncthreads();
    const i64 *block = blocks + 3 * (i64)blockIdx.x, start = block[1], stop = block[2];
    for (i64 base = start; base < stop; base += THREADS * AT_ONCE) {
        bool listed[AT_ONCE];
        double weight[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            i64 i = base + k * THREADS + threadIdx.x;
            listed[k] = i < stop && is_there[column[i]];
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) weight[k] = listed[k] ? weights[base + k * THREADS + threadIdx.x] : 0.0;
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            i64 i = base + k * THREADS + threadIdx.x, place = start + place_in_list(listed[k], &n_listed);
            if (listed[k]) {
                rows[place] = (u32)i;
                gains[place] = whole(weight[k]) * (weighted ? mass[i] : 1);
            }
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) n_rows[blockIdx.x] = n_listed;
}

extern "C" __global__ void __launch_bounds__(THREADS)
sum_wrong(const u8* __restrict__ column, const u8* __restrict__ leaf_of_code, const u8* __restrict__ wrong,
          i64 n_leaves, const double* __restrict__ weights, const i64* __restrict__ mass, i64 weighted,
          const i64* __restrict__ blocks, i64* sums) {
    const i64 *block = blocks + 3 * (i64)blockIdx.x, start = block[1], stop = block[2];
    const u8* is_wrong = wrong + block[0] * n_leaves;
    i64 total = 0;
    for (i64 i = start + threadIdx.x; i < stop; i += THREADS)
        if (is_wrong[leaf_of_code[column[i]]]) total += whole(weights[i]) * (weighted ? mass[i] : 1);
    total = block_sum(total);
    if (threadIdx.x == 0) add_to(sums + block[0], total);
}

extern "C" __global__ void __launch_bounds__(THREADS)
split_leaves(const u8* __restrict__ column, const u8* __restrict__ side_of_code, const u8* __restrict__ right,
             const u8* __restrict__ left, const u8* __restrict__ leaf_of_code, const i64* __restrict__ mass,
             i64 weighted, const i64* __restrict__ blocks, u8* __restrict__ leaves, i64* leaf_mass) {
    const i64 *block = blocks + 3 * (i64)blockIdx.x, start = block[1], stop = block[2];
    i64 in_leaf[4] = {0, 0, 0, 0};
    for (i64 i = start + threadIdx.x; i < stop; i += THREADS) {
        u8 leaf = side_of_code[column[i]] ? leaf_of_code[N_CODES + left[i]] : leaf_of_code[right[i]];
        leaves[i] = leaf;
        i64 m = weighted ? mass[i] : 1;
#pragma unroll
        for (int k = 0; k < 4; k++) in_leaf[k] += leaf == k ? m : 0;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        i64 sum = block_sum(in_leaf[k]);
        if (threadIdx.x == 0) add_to(leaf_mass + 4 * block[0] + k, sum);
    }
}

// One thread block for each class: the sum of what its blocks have.
extern "C" __global__ void sum_per_class(const i64* __restrict__ blocks, const i64* __restrict__ per_block, i64 n_groups,
                                         i64 n_blocks, i64* sums) {
    i64 total = 0;
    for (i64 b = threadIdx.x; b < n_blocks; b += blockDim.x)
        if ((blocks[3 * b] >= n_groups) == (blockIdx.x == 1)) total += per_block[b];
    total = block_sum(total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(THREADS)
fill_weights(const i64* __restrict__ blocks, const double* __restrict__ start, double* weights) {
    const i64* block = blocks + 3 * (i64)blockIdx.x;
    for (i64 i = block[1] + threadIdx.x; i < block[2]; i += THREADS) weights[i] = start[block[0]];
}

extern "C" __global__ void __launch_bounds__(THREADS)
scale_weights(const i64* __restrict__ blocks, i64 n_groups, i64 y, double factor, double* weights) {
    const i64* block = blocks + 3 * (i64)blockIdx.x;
    if ((block[0] >= n_groups) != (y == 1)) return;
    for (i64 i = block[1] + threadIdx.x; i < block[2]; i += THREADS) weights[i] *= factor;
}

extern "C" __global__ void __launch_bounds__(THREADS)
count_margins(const double* __restrict__ margin, double grid, i64 shift, i64 lowest, i64 n_cells,
              const i64* __restrict__ mass, i64 weighted, const i64* __restrict__ blocks, i64* counts) {
    const i64* block = blocks + 3 * (i64)blockIdx.x;
    for (i64 i = block[1] + threadIdx.x; i < block[2]; i += THREADS) {
        i64 bucket = ((__double2ll_rn(margin[i] / grid) - 1) >> shift) - lowest;
        add_to(counts + bucket * n_cells + block[0], weighted ? mass[i] : 1);
    }
}

// Sums of 64 bits as two words of 32 in shared memory, where the hardware adds 32 bits at a time.
__device__ __forceinline__ void add_wide(u32* low, u32* high, int at, u32 gain_low, u32 gain_high) {
    u32 old = atomicAdd(low + at, gain_low);
    u32 above = gain_high + (old + gain_low < gain_low);  // the carry
    if (above) atomicAdd(high + at, above);
}

// histograms[f, y, codes[f, row]] += gain for the listed rows. Thread blocks of one blockIdx.y share n_bundles bundles,
// each with histograms of its own in shared memory, one class after the other; copies of them spare neighbouring
// threads to wait for each other. Work is dealt out by warps: so many places of the list of one block of rows. What a
// thread block found goes to parts[blockIdx.x, y, f, code], which add_parts adds up.
extern "C" __global__ void __launch_bounds__(HISTOGRAM_THREADS, 2)
add_to_histograms(const u8* __restrict__ codes, i64 stride, const u32* __restrict__ rows,
                  const i64* __restrict__ gains, const i64* __restrict__ n_rows, const i64* __restrict__ blocks,
                  i64 n_groups, i64 n_blocks, i64 n_all_bundles, i64 n_bundles, i64 n_copies, i64 n_chunks,
                  u64* parts) {
    extern __shared__ u32 shared[];
    const int first = blockIdx.y * n_bundles;
    const int n = (int)(n_all_bundles - first < n_bundles ? n_all_bundles - first : n_bundles);
    const int size = n * N_CODES, n_words = size * (int)n_copies;
    u32 *low = shared, *high = shared + n_words;
    const int lane = threadIdx.x & 31, copy = (lane & ((int)n_copies - 1)) * size;
    const i64 n_warps = (i64)gridDim.x * (blockDim.x >> 5);
    codes += first * stride;
    parts += (i64)blockIdx.x * 2 * n_all_bundles * N_CODES + first * N_CODES;
    i64 n_negative_blocks = 0;  // they come first
    for (i64 above = n_blocks; n_negative_blocks < above;) {
        const i64 middle = (n_negative_blocks + above) / 2;
        if (blocks[3 * middle] < n_groups) n_negative_blocks = middle + 1;
        else above = middle;
    }
    for (int y = 0; y < 2; y++) {
        const i64 first_block = y ? n_negative_blocks : 0;
        const i64 n_class = (y ? n_blocks : n_negative_blocks) - first_block;
        for (int at = threadIdx.x; at < 2 * n_words; at += blockDim.x) shared[at] = 0;
        __syncthreads();
        for (i64 item = (i64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); item < n_class * n_chunks;
             item += n_warps) {
            const i64 chunk = item / n_class, b = first_block + item - chunk * n_class;
            const i64 n_listed = n_rows[b], start = blocks[3 * b + 1];
            const i64 to = n_listed < (chunk + 1) * LIST_CHUNK ? n_listed : (chunk + 1) * LIST_CHUNK;
            for (i64 from = chunk * LIST_CHUNK; from < to; from += 32 * AT_ONCE) {
                u32 row[AT_ONCE], gain_low[AT_ONCE], gain_high[AT_ONCE];
#pragma unroll
                for (int k = 0; k < AT_ONCE; k++) {
                    const i64 place = from + 32 * k + lane;
                    const i64 gain = place < to ? gains[start + place] : 0;
                    row[k] = place < to ? rows[start + place] : (u32)start;
                    gain_low[k] = (u32)gain, gain_high[k] = (u32)(gain >> 32);
                }
                for (int f = 0; f < n; f += BUNDLES_AT_ONCE) {
                    u8 code[BUNDLES_AT_ONCE][AT_ONCE];
#pragma unroll
                    for (int g = 0; g < BUNDLES_AT_ONCE; g++) {
                        const u8* column = codes + (f + g < n ? f + g : f) * stride;
#pragma unroll
                        for (int k = 0; k < AT_ONCE; k++) code[g][k] = __ldg(column + row[k]);
                    }
#pragma unroll
                    for (int g = 0; g < BUNDLES_AT_ONCE; g++) {
                        if (f + g >= n) break;
#pragma unroll
                        for (int k = 0; k < AT_ONCE; k++)
                            if (gain_low[k] | gain_high[k])
                                add_wide(low, high, copy + (f + g) * N_CODES + code[g][k], gain_low[k], gain_high[k]);
                    }
                }
            }
        }
        __syncthreads();
        for (int at = threadIdx.x; at < size; at += blockDim.x) {
            u64 sum = 0;
            for (int c = 0; c < (int)n_copies; c++)
                sum += ((u64)high[c * size + at] << 32) + low[c * size + at];
            parts[y * n_all_bundles * N_CODES + at] = sum;
        }
        __syncthreads();
    }
}

// histograms[f, y, code] = sum of parts[:, y, f, code]. Thread blocks of one blockIdx.y add some of the parts.
extern "C" __global__ void __launch_bounds__(THREADS)
add_parts(const u64* __restrict__ parts, i64 n_parts, i64 n_bundles, u64* histograms) {
    const i64 size = n_bundles * N_CODES, at = (i64)blockIdx.x * THREADS + threadIdx.x;
    if (at >= 2 * size) return;
    u64 sum = 0;
#pragma unroll 8
    for (i64 part = blockIdx.y; part < n_parts; part += gridDim.y) sum += parts[part * 2 * size + at];
    const i64 y = at / size, f = at % size / N_CODES;
    if (sum) atomicAdd(histograms + (f * 2 + y) * N_CODES + at % N_CODES, sum);
}
