// One function per kind of group: schedule, text and launch of its kernel. Error: a schedule that
// does not fit the target; the message names the op, what it needs and the limit.
#pragma once

#include "codegen/kernel_builder.h"

namespace warploom {

llvm::Expected<Kernel> emitMapKernel(const KernelContext &context, const Group &group);
llvm::Expected<Kernel> emitRowKernel(const KernelContext &context, const Group &group);
llvm::Expected<Kernel> emitMatmulKernel(const KernelContext &context, const Group &group);
llvm::Expected<Kernel> emitAttentionKernel(const KernelContext &context, const Group &group);

} // namespace warploom
