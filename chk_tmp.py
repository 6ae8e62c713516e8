import sys; sys.argv=["x"]
import warnings; warnings.simplefilter("ignore")
from tests.gpu import simulated; simulated.use_small_blocks()
from tests.gpu.run_simulated import _in_tiles, CASES
from foregone._kernels.gpu import gpu_rows
from foregone.forest import gpu_forest, gpu_jobs
n=0
orig=gpu_rows.ranks_kernel
def spy(shape):
    global n; n+=1; return orig(shape)
gpu_rows.ranks_kernel=spy
gpu_jobs.LANES_TO_STOP, gpu_jobs.LANES_TO_COUNT, gpu_jobs.LANES_TO_ADD = 4, 8, 4
for g in (0.0,1e9):
    n=0; _in_tiles(CASES["votes_on_rows_on_the_device"],g); print(g,n)
