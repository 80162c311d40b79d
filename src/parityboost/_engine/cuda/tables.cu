// Values to codes, what the bins are learnt from, and prediction: the twins of kernels/columns.py.
// Threads take rows in turn; n is the number of rows. An empty mass (weighted = 0) means one each.

typedef unsigned char u8;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#define N_CODES 256
#define NOTHING 0xffffffffffffffffull  // the bits of a NaN, which is no value
#define FOR_ROWS(i) for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (i64)gridDim.x * blockDim.x)

// Sums of 64 bits as two words of 32 in shared memory, where the hardware adds 32 bits at a time.
__device__ __forceinline__ void add_wide(u32* low, u32* high, i64 at, u64 gain) {
    u32 gain_low = (u32)gain, old = atomicAdd(low + at, gain_low);
    u32 above = (u32)(gain >> 32) + (old + gain_low < gain_low);  // the carry
    if (above) atomicAdd(high + at, above);
}

extern "C" __global__ void encode_numbers(const double* __restrict__ values, i64 n, const double* __restrict__ edges,
                                          u8* __restrict__ codes, int* infinite) {
    __shared__ double padded[N_CODES];
    for (int k = threadIdx.x; k < N_CODES; k += blockDim.x) padded[k] = edges[k];
    __syncthreads();
    bool is_infinite = false;
    FOR_ROWS(i) {
        const double value = values[i];
        int below = 0;
#pragma unroll
        for (int half = 128; half; half >>= 1) below += padded[below + half - 1] < value ? half : 0;
        codes[i] = value == value ? below + 1 : 0;
        is_infinite |= value == value && value - value != 0.0;
    }
    if (is_infinite) *infinite = 1;
}

__device__ __forceinline__ i64 first_slot(u64 key, i64 slot_bits) {
    return (i64)((key * 0x9E3779B97F4A7C15ull) >> (64 - slot_bits));
}

// Collect the bits of the distinct values other than NaN in a table of 2^slot_bits slots; more than `most` are given up.
extern "C" __global__ void collect_distinct(const double* __restrict__ values, i64 n, i64 slot_bits, i64 most,
                                            u64* slots, u32* n_distinct) {
    const i64 last_slot = (1ll << slot_bits) - 1;
    u64 before = NOTHING;
    FOR_ROWS(i) {
        const double value = values[i];
        if (value != value) continue;
        const u64 key = value == 0.0 ? 0ull : (u64)__double_as_longlong(value);  // -0.0 equals 0.0
        if (key == before) continue;
        before = key;
        if (*(volatile u32*)n_distinct > most) return;
        for (i64 slot = first_slot(key, slot_bits);; slot = (slot + 1) & last_slot) {
            u64 there = *(volatile u64*)(slots + slot);
            if (there == NOTHING) {
                there = atomicCAS(slots + slot, NOTHING, key);
                if (there == NOTHING && atomicAdd(n_distinct, 1u) + 1 > most) return;
                if (there == NOTHING) break;
            }
            if (there == key) break;
            if (*(volatile u32*)n_distinct > most) return;
        }
    }
}

// The mass of each value that was collected: masses[place_of[slot]]. Shared memory holds the sums of a thread block.
extern "C" __global__ void sum_masses_of(const double* __restrict__ values, i64 n, i64 slot_bits,
                                         const u64* __restrict__ slots, const int* __restrict__ place_of,
                                         i64 n_distinct, const i64* __restrict__ mass, i64 weighted, u64* masses) {
    extern __shared__ u32 low[];
    u32* high = low + n_distinct;
    for (i64 k = threadIdx.x; k < 2 * n_distinct; k += blockDim.x) low[k] = 0;
    __syncthreads();
    const i64 last_slot = (1ll << slot_bits) - 1;
    FOR_ROWS(i) {
        const double value = values[i];
        if (value != value) continue;
        const u64 key = value == 0.0 ? 0ull : (u64)__double_as_longlong(value);
        i64 slot = first_slot(key, slot_bits);
        while (slots[slot] != key) slot = (slot + 1) & last_slot;
        add_wide(low, high, place_of[slot], weighted ? (u64)mass[i] : 1ull);
    }
    __syncthreads();
    for (i64 k = threadIdx.x; k < n_distinct; k += blockDim.x) {
        const u64 sum = ((u64)high[k] << 32) + low[k];
        if (sum) atomicAdd(masses + k, sum);
    }
}

// The bits of a float as an integer, in the order of the floats; -0.0 is 0.0.
__device__ __forceinline__ u64 key_of(double value) {
    if (value == 0.0) return 1ull << 63;
    const u64 bits = (u64)__double_as_longlong(value);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

__device__ __forceinline__ i64 stretch_of(u64 key, i64 shift, const i64* parts_of, const i64* part_shift, i64 first_new) {
    i64 at = (i64)(key >> shift);
    while (at < first_new && parts_of[at] >= 0) {
        const u64 within = key & ((1ull << shift) - 1ull);
        shift = part_shift[at];
        at = parts_of[at] + (i64)(within >> shift);
    }
    return at;
}

// in_shared: whether the sums of the new stretches fit into shared memory.
extern "C" __global__ void count_keys(const double* __restrict__ values, i64 n, const i64* __restrict__ weights,
                                      i64 weighted, u64 start, i64 shift, const i64* __restrict__ parts_of,
                                      const i64* __restrict__ part_shift, i64 first_new, i64 n_new, i64 in_shared,
                                      u64* mass) {
    extern __shared__ u32 low[];
    u32* high = low + n_new;
    if (in_shared) {
        for (i64 k = threadIdx.x; k < 2 * n_new; k += blockDim.x) low[k] = 0;
        __syncthreads();
    }
    FOR_ROWS(i) {
        const i64 at = stretch_of(key_of(values[i]) - start, shift, parts_of, part_shift, first_new) - first_new;
        if (at >= 0) {
            const u64 weight = weighted ? (u64)weights[i] : 1ull;
            if (in_shared) add_wide(low, high, at, weight);
            else atomicAdd(mass + at, weight);
        }
    }
    if (in_shared) {
        __syncthreads();
        for (i64 k = threadIdx.x; k < n_new; k += blockDim.x) {
            const u64 sum = ((u64)high[k] << 32) + low[k];
            if (sum) atomicAdd(mass + k, sum);
        }
    }
}

extern "C" __global__ void look_into(const double* __restrict__ values, i64 n, u64 start, i64 shift,
                                     const i64* __restrict__ parts_of, const i64* __restrict__ part_shift,
                                     i64 first_new, const u8* __restrict__ wanted, u64* one_value, u8* is_mixed) {
    FOR_ROWS(i) {
        const double value = values[i];
        const i64 at = stretch_of(key_of(value) - start, shift, parts_of, part_shift, first_new);
        if (!wanted[at] || *(volatile u8*)(is_mixed + at)) continue;
        u64 there = *(volatile u64*)(one_value + at);
        if (there == NOTHING) there = atomicCAS(one_value + at, NOTHING, (u64)__double_as_longlong(value));
        if (there != NOTHING && __longlong_as_double((i64)there) != value) is_mixed[at] = 1;
    }
}

extern "C" __global__ void add_steps(const u8* __restrict__ codes, i64 n, const double* __restrict__ steps,
                                     double* __restrict__ margin) {
    __shared__ double step_of[N_CODES];
    for (int k = threadIdx.x; k < N_CODES; k += blockDim.x) step_of[k] = steps[k];
    __syncthreads();
    FOR_ROWS(i) margin[i] += step_of[codes[i]];
}

extern "C" __global__ void add_pair_steps(const u8* __restrict__ first, const u8* __restrict__ second, i64 n,
                                          const u8* __restrict__ row_of, const u8* __restrict__ column_of, i64 width,
                                          const double* __restrict__ steps, double* __restrict__ margin) {
    FOR_ROWS(i) margin[i] += steps[row_of[first[i]] * width + column_of[second[i]]];
}
